# SPDX-License-Identifier: Apache-2.0
"""The ratios as a picture (SVG): a bar for each row and column of report.py, to the left of the line where gantry is ahead."""

import html
import math

from comparison.report import rows_of

WIDTH, LEFT, RIGHT, TOP = 900, 230, 70, 92
BAR, GAP = 13, 10
AHEAD = ("#1f7a4d", "#63b58a")    # by column
BEHIND = ("#b5482a", "#e08b6d")
TICKS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100)


def text(x, y, content, anchor="start", size=12, color="#222", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}" fill="{color}" font-weight="{weight}">'
            f"{html.escape(content)}</text>")


def scale(ratios):
    """A function from a ratio to x, logarithmic, over a range that holds all of them, 0.5 and 2."""
    low, high = math.log(min([*ratios, 0.5]) / 1.1), math.log(max([*ratios, 2]) * 1.1)
    return lambda ratio: LEFT + (math.log(ratio) - low) / (high - low) * (WIDTH - LEFT - RIGHT)


def bar(place, y, ratio, shade):
    start, end = sorted((place(1), place(ratio)))
    color = (AHEAD if ratio <= 1 else BEHIND)[shade % 2]
    return [f'<rect x="{start:.1f}" y="{y}" width="{max(end - start, 1):.1f}" height="{BAR - 1}" fill="{color}"/>',
            text(place(ratio) + (-4 if ratio <= 1 else 4), y + 10, f"{ratio:.2f}", "end" if ratio <= 1 else "start", 10, "#444")]


def axis(place, bottom):
    parts = []
    for tick in TICKS:
        x = place(tick)
        if LEFT <= x <= WIDTH - RIGHT:
            stroke = "#222" if tick == 1 else "#ddd"
            parts += [f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{bottom}" stroke="{stroke}"/>', text(x, TOP - 12, f"{tick:g}", "middle", 11, "#666")]
    return parts


def legend(columns):
    parts = []
    for i, name in enumerate(columns):
        x = LEFT + 150 * i
        parts += [f'<rect x="{x}" y="46" width="12" height="12" fill="{AHEAD[i % 2]}"/>', f'<rect x="{x + 13}" y="46" width="12" height="12" fill="{BEHIND[i % 2]}"/>',
                  text(x + 32, 56, title_of(name))]
    return parts


def title_of(column):
    """"AVX2 T1" is "AVX2, 1 thread"."""
    *isa, threads = column.split()
    return ", ".join([*isa, f"{threads[1:]} thread{'' if threads == 'T1' else 's'}"])


def bars(place, entries, columns):
    """entries: (title, {column: ratio or None}). Returns the parts and where they end."""
    parts, y = [], TOP
    for title, ratios in entries:
        weight = "bold" if title == "geometric mean" else "normal"
        parts.append(text(10, y + 10 + (len(columns) - 1) * BAR / 2, title, weight=weight))
        for i, name in enumerate(columns):
            ratio = ratios.get(name)
            if ratio is None:
                parts.append(text(place(1) + 4, y + i * BAR + 10, "not compared", size=10, color="#888"))
            else:
                parts += bar(place, y + i * BAR, ratio, i)
        y += len(columns) * BAR + GAP
    return parts, y


def draw(document):
    """The SVG text for a document of report.document."""
    columns = list(document["geometric_mean"])
    entries = [*rows_of(document).items(), ("geometric mean", document["geometric_mean"])]
    ratios = [ratio for _, by_column in entries for ratio in by_column.values() if ratio is not None]
    place = scale(ratios)
    shapes, end = bars(place, entries, columns)
    height = end + 24
    versions = ", ".join(f"{name} {version}" for name, version in document["versions"].items())
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" font-family="sans-serif">',
             f'<rect width="{WIDTH}" height="{height}" fill="white"/>',
             text(10, 24, "Median time of gantry over that of the better peer (left of 1: gantry is ahead)", size=15, weight="bold"),
             *legend(columns), *axis(place, end), *shapes,
             text(10, height - 8, f"{versions}; {document['machine']['processor']}; load {document['machine']['load_before']:.1f} before", size=10, color="#666"), "</svg>"]
    return "\n".join(parts) + "\n"
