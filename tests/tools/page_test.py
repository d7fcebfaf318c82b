# SPDX-License-Identifier: Apache-2.0
"""The page of `gantry explain --html`, in a browser: what it shows, how it is found, and that large graphs stay usable."""

import json

import numpy as np
import onnx
import pytest
from broken_models import make_model, value
from browser import Browser
from command_line import facts, gantry
from model_files import light_file
from onnx import TensorProto, helper, numpy_helper
from selenium.webdriver.common.keys import Keys


@pytest.fixture(scope="module")
def chromium():
    browser = Browser()
    yield browser
    browser.close()


@pytest.fixture
def browser(chromium):
    """Complains of what a page wrote to the console, and of what it asked the network for."""
    chromium.complaints()
    yield chromium
    assert chromium.complaints() == []


def mixed_model():
    """MatMul and Add on the accelerator, Tanh on the CPU, and a Loop whose body adds on the accelerator."""
    body = helper.make_graph(
        [helper.make_node("Identity", ["go"], ["go_on"], name="keep"), helper.make_node("Add", ["before", "y"], ["after"], name="more")],
        "body",
        [value("i", TensorProto.INT64, ()), value("go", TensorProto.BOOL, ()), value("before", shape=(4, 16))],
        [value("go_on", TensorProto.BOOL, ()), value("after", shape=(4, 16))],
    )
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["product"], name="product"),
        helper.make_node("Tanh", ["product"], ["bent"], name="bend"),
        helper.make_node("Add", ["bent", "x"], ["y"], name="</script><b>sum</b>"),
        helper.make_node("Loop", ["rounds", "yes", "bent"], ["z"], name="again", body=body),
    ]
    constants = [
        numpy_helper.from_array(np.ones((16, 16), np.float32), "w"),
        numpy_helper.from_array(np.array(3), "rounds"),
        numpy_helper.from_array(np.array(True), "yes"),
    ]
    return make_model(nodes, [value("x", shape=(4, 16))], [value("y", shape=(4, 16)), value("z", shape=(4, 16))], constants)


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """(page, the facts in it, arguments for explain)."""
    folder = tmp_path_factory.mktemp("mixed")
    onnx.save(mixed_model(), folder / "mixed.onnx")
    (folder / "config.json").write_text(json.dumps({"placement": {"prefer": ["SIM:0", "CPU"], "fallback": "allow"}}))
    arguments = [folder / "mixed.onnx", "--config", folder / "config.json"]
    explanation = facts("explain", *arguments, "--html", folder / "page.html")
    return folder / "page.html", explanation, arguments


def stripe(browser, name):
    """The color at a node's left edge, where it is that of its device."""
    browser.run("page.show(page.scene.boxOfNode[page.nodes.findIndex((node) => node.node === arguments[0])])", name)
    place = browser.run("return page.positionOf(arguments[0])", name)
    return tuple(browser.pixels()[round(place["y"] + place["height"] / 2), round(place["x"] + 3 * place["width"] / 100 + 1)])


def legend(browser):
    """By device: (color, number of nodes)."""
    rows = {}
    for row in browser.all("#devices .device"):
        color = browser.run("return getComputedStyle(arguments[0].querySelector('.swatch')).backgroundColor", row)
        count = browser.run("return arguments[0].querySelector('.count').textContent", row)
        rows[row.get_attribute("data-device")] = (tuple(int(part) for part in color[4:-1].split(",")), int(count.split("\u00b7")[-1]))
    return rows


def centre(browser, name):
    place = browser.run("return page.positionOf(arguments[0])", name)
    return place["x"] + min(place["width"] / 2, 40), place["y"] + min(place["height"], 40) / 2


def test_facts_are_those_of_json(mixed):
    page, explanation, _ = mixed
    assert explanation["fallback"] == "allow" and explanation["wanted"] == "SIM:0, CPU"
    assert len(explanation["transfers"]) == explanation["copies"] > 0
    nodes = {node["node"]: node for node in explanation["nodes"]}
    assert nodes["product"]["inputs"] == ["x", "w"] and nodes["product"]["outputs"] == ["product"]
    assert (nodes["product"]["memory"], nodes["bend"]["memory"]) == ("SIM:0", "CPU:0")
    inner = nodes["again/body/more"]
    assert explanation["nodes"][inner["parent"]]["node"] == "again" and inner["body"] == "body" and nodes["again"]["parent"] == -1
    values = {value["name"]: value for value in explanation["values"]}
    assert values["w"]["constant"] and values["x"]["input"] and values["z"]["output"]
    assert (values["product"]["type"], values["product"]["size_bytes"]) == ("float32[4,16]", 256)
    assert {"value": "product", "from": "SIM:0", "to": "CPU:0", "size_bytes": 256} in explanation["transfers"]
    assert "http" not in page.read_text().replace("http-equiv", "")


def test_pointing_at_a_node_tells_why_it_runs_there(browser, mixed):
    browser.open(mixed[0])
    node = next(node for node in mixed[1]["nodes"] if node["node"] == "bend")
    browser.point_at(*centre(browser, "bend"))
    browser.settle()
    tip = browser.text("#tip")
    assert "Tanh" in tip and "CPU:0 by cpu" in tip and node["reason"] in tip
    browser.point_at(*centre(browser, "bend"), click=True)
    panel = browser.text("#selected")
    assert node["reason"] in panel and node["kernel"] in panel and "float32[4,16]" in panel and "product: SIM:0 \u2192 CPU:0, 256 B" in panel


def test_colors_are_the_devices(browser, mixed):
    browser.open(mixed[0])
    rows = legend(browser)
    assert len({color for color, _ in rows.values()}) == len(rows) == 2
    leaves = [node for node in mixed[1]["nodes"] if node["op_type"] != "Loop"]
    seen = {node["node"]: stripe(browser, node["node"]) for node in leaves}
    assert {node["node"]: rows[node["device"]][0] for node in leaves} == seen
    assert {device: count for device, (_, count) in rows.items()} == {
        device: sum(node["device"] == device for node in mixed[1]["nodes"]) for device in ("CPU:0", "SIM:0")
    }


def test_a_device_can_be_filtered_out(browser, mixed):
    browser.open(mixed[0])
    before = stripe(browser, "product"), stripe(browser, "bend")
    browser.one('.device[data-device="SIM:0"] input').click()
    assert stripe(browser, "product") != before[0] and stripe(browser, "bend") == before[1]


def test_bodies_are_drawn_inside_their_node(browser, mixed):
    browser.open(mixed[0])
    outer, inner = (browser.run("return page.positionOf(arguments[0])", name) for name in ("again", "again/body/more"))
    assert outer["x"] < inner["x"] and inner["x"] + inner["width"] < outer["x"] + outer["width"]
    assert outer["y"] < inner["y"] and inner["y"] + inner["height"] < outer["y"] + outer["height"]


def test_names_are_text(browser, mixed):
    browser.open(mixed[0])
    browser.one("#search").send_keys("sum")
    browser.one("#search").send_keys(Keys.ENTER)
    assert "</script><b>sum</b>" in browser.text("#selected")


def test_search_by_name_and_operator(browser, mixed):
    browser.open(mixed[0])
    browser.one("body").send_keys("/")
    search = browser.one("#search")
    assert browser.run("return document.activeElement === arguments[0]", search)
    search.send_keys("add")
    assert browser.text("#found") == "2 found"
    search.send_keys(Keys.ENTER)
    assert browser.text("#found") == "1 of 2" and browser.text("#selected").startswith("Add")
    search.send_keys(Keys.ENTER)
    assert "again/body/more" in browser.text("#selected")
    search.send_keys(Keys.ESCAPE)
    search.send_keys("bend")
    assert browser.text("#found") == "1 found"
    search.send_keys("no such node")
    assert browser.text("#found") == "none"


def test_zoom_and_fit(browser, mixed):
    browser.open(mixed[0])
    width = browser.run("return page.positionOf('bend').width")
    browser.one("#zoom-in").click()
    assert browser.run("return page.positionOf('bend').width") == pytest.approx(1.4 * width)
    browser.one("#graph").send_keys("-")
    assert browser.run("return page.positionOf('bend').width") == pytest.approx(width)
    for _ in range(4):
        browser.one("#zoom-in").click()
    browser.one("#fit").click()
    stage = browser.run("const box = document.getElementById('stage').getBoundingClientRect(); return [box.left, box.top, box.right, box.bottom]")
    for node in mixed[1]["nodes"]:
        place = browser.run("return page.positionOf(arguments[0])", node["node"])
        assert place["x"] >= stage[0] and place["y"] >= stage[1]
        assert place["x"] + place["width"] <= stage[2] and place["y"] + place["height"] <= stage[3]


def test_the_wheel_scrolls_and_zooms_around_the_pointer(browser, mixed):
    browser.open(mixed[0])
    wheel = """document.getElementById('graph').dispatchEvent(new WheelEvent('wheel', {deltaY: arguments[0], ctrlKey: arguments[1],
               clientX: arguments[2], clientY: arguments[3], cancelable: true}))"""
    before = browser.run("return page.positionOf('bend')")
    browser.run(wheel, 100, False, before["x"], before["y"])
    after = browser.run("return page.positionOf('bend')")
    assert (after["x"], after["y"]) == pytest.approx((before["x"], before["y"] - 100))
    browser.run(wheel, -200, True, after["x"], after["y"])
    larger = browser.run("return page.positionOf('bend')")
    assert larger["width"] > 1.3 * after["width"] and (larger["x"], larger["y"]) == pytest.approx((after["x"], after["y"]), abs=1.5)


def test_keys_walk_along_the_edges(browser, mixed):
    browser.open(mixed[0])
    graph = browser.one("#graph")
    graph.send_keys(Keys.HOME)
    assert browser.text("#selected").startswith("MatMul")
    graph.send_keys(Keys.ARROW_DOWN)
    assert browser.text("#selected").startswith("Tanh")
    graph.send_keys(Keys.ARROW_UP)
    assert browser.text("#selected").startswith("MatMul")
    graph.send_keys(Keys.ESCAPE)
    assert not browser.one("#selected").is_displayed()


def test_light_and_dark(browser, mixed):
    def paper():
        return browser.pixels()[-20, 200].astype(int).sum()

    browser.open(mixed[0], dark=True)
    dark, colors = paper(), legend(browser)
    browser.one("#theme").click()
    assert dark < 150 and paper() == 3 * 255
    assert all(legend(browser)[device] != row for device, row in colors.items())


def test_prints_the_whole_graph(browser, mixed):
    browser.open(mixed[0])
    document = browser.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})
    assert len(document["data"]) > 10_000
    width, scene = browser.run("return [document.getElementById('print').naturalWidth, page.scene.width]")
    assert width >= scene


def test_measured_times(browser, mixed, tmp_path):
    page = tmp_path / "page.html"
    explanation = facts("explain", *mixed[2], "--measure", "3", "--html", page)
    times = {node["node"]: node["time_us"] for node in explanation["nodes"]}
    assert all(time > 0 for time in times.values())
    assert times["product"] > 40  # on its stream, whose latency is 50 us
    assert times["again"] > 3 * 40
    browser.open(page)
    rows = [row.text for row in browser.all("#slowest .row")]
    slowest = max(explanation["nodes"], key=lambda node: node["time_us"])
    assert rows[0].startswith(slowest["op_type"]) and len(rows) == len(times)
    before = stripe(browser, "bend")
    browser.one("#by-time").click()
    assert stripe(browser, "bend") != before


def test_times_of_a_trace(mixed, tmp_path):
    gantry("bench", *mixed[2], "--seconds", "0.01", "--warm-up", "0", "--profile", tmp_path / "t.json")
    explanation = facts("explain", *mixed[2], "--profile", tmp_path / "t.json")
    assert all(node["time_us"] > 0 for node in explanation["nodes"])
    output, _ = gantry("explain", *mixed[2], "--profile", tmp_path / "t.json")
    assert "the slowest:" in output and "TIME" in output


def test_a_real_model_in_one_column_and_in_many(browser, tmp_path):
    page = tmp_path / "page.html"
    explanation = facts("explain", light_file("densenet121"), "--html", page)
    browser.open(page)
    assert_apart(browser, explanation)
    width, height = browser.run("return [page.scene.width, page.scene.height]")
    assert height > 3 * width
    browser.run("page.selectNode(100)")
    browser.one("#graph").send_keys("c")
    assert_apart(browser, explanation)
    width, height = browser.run("return [page.scene.width, page.scene.height]")
    assert 0.4 < height / width < 2.5
    assert explanation["nodes"][100]["node"] in browser.text("#selected")
    lines = browser.run("return page.scene.lines.map((line) => [line.x1, line.y1, line.x2, line.y2])")
    assert all(-1 <= x <= width + 1 and -1 <= y <= height + 40 for line in lines for x, y in (line[:2], line[2:]))


def assert_apart(browser, explanation):
    """Every node has a box, and none covers another."""
    boxes = browser.run("return page.scene.boxes.map((box) => [box.x, box.y, box.w, box.h, box.node])")
    assert sorted(node for *_, node in boxes if node is not None) == list(range(len(explanation["nodes"])))
    boxes.sort(key=lambda box: box[1])
    for i, (x, y, w, h, _) in enumerate(boxes):
        for x2, y2, w2, _, _ in boxes[i + 1 :]:
            if y2 >= y + h:
                break
            assert x2 >= x + w or x >= x2 + w2


def branchy_model(count):
    """Nodes that read from a few before them, as networks do."""
    generator = np.random.default_rng(count)
    names, nodes = ["x"], []
    for i in range(count):
        operator = generator.choice(["Relu", "Sigmoid", "Tanh", "Add", "Mul", "Concat"])
        inputs = [names[-1 - min(len(names) - 1, int(generator.exponential(2)))] for _ in range(1 if operator in ("Relu", "Sigmoid", "Tanh") else 2)]
        if operator == "Concat":
            inputs, operator = inputs[:1], "Neg"
        nodes.append(helper.make_node(str(operator), inputs, [f"v{i}"], name=f"block_{i // 12}/node_{i}"))
        names.append(f"v{i}")
    read = {name for node in nodes for name in node.input}
    outputs = [value(name, shape=(4,)) for name in names if name not in read]
    return make_model(nodes, [value("x", shape=(4,))], outputs)


def layered_model(layers):
    """Layers of the same nodes, as transformers have them, with something before and after."""
    nodes = [helper.make_node("Relu", ["x"], ["h0"], name="stem"), helper.make_node("Neg", ["h0"], ["v0"], name="bent stem")]
    for i in range(layers):
        def add(op_type, inputs, output, i=i):
            nodes.append(helper.make_node(op_type, inputs, [f"{output}{i}"], name=f"layers.{i}/{output}"))
            return f"{output}{i}"

        query, key, rest = (add(op_type, [f"v{i}"], output) for op_type, output in (("Sigmoid", "query"), ("Tanh", "key"), ("Identity", "rest")))
        scores = add("Softmax", [add("MatMul", [query, key], "scores")], "shares")
        nodes.append(helper.make_node("Add", [add("MatMul", [scores, rest], "mixed"), f"v{i}"], [f"s{i}"], name=f"layers.{i}/sum"))
        nodes.append(helper.make_node("Relu", [f"s{i}"], [f"v{i + 1}"], name=f"layers.{i}/end"))
    nodes.append(helper.make_node("ReduceMax", [f"v{layers}"], ["y"], name="head"))
    return make_model(nodes, [value("x", shape=(4, 4))], [value("y", shape=(1, 1))])


@pytest.fixture(scope="module")
def layered(tmp_path_factory):
    folder = tmp_path_factory.mktemp("layered")
    onnx.save(layered_model(12), folder / "layered.onnx")
    config = {"placement": {"prefer": ["CPU"], "rules": [{"op_type": "Add", "device": "SIM:0"}]}, "session": {"optimization": "none"}}
    (folder / "config.json").write_text(json.dumps(config))
    return folder / "page.html", facts("explain", folder / "layered.onnx", "--config", folder / "config.json", "--html", folder / "page.html")


def blocks(browser):
    """Of the boxes that stand for blocks: (title, names of the nodes in it)."""
    return browser.run("return page.scene.boxes.filter((box) => box.kind === 'block').map((box) => [box.title, box.members.map((i) => page.nodes[i].node)])")


def test_repeated_blocks_become_one_box_each(browser, layered):
    page, explanation = layered
    browser.open(page)
    assert_apart(browser, explanation)  # nothing is closed unless somebody asks for it
    browser.one("#blocks").click()
    found = blocks(browser)
    assert [title for title, _ in found] == [f"Block {i + 1} of 12" for i in range(12)]
    for i, (_, names) in enumerate(found):
        assert len(names) == 8 and all(name.startswith(f"layers.{i}/") for name in names)
    kinds = browser.run("return page.scene.boxes.map((box) => box.kind)")
    assert (kinds.count("node"), kinds.count("block")) == (3, 12)
    places = browser.run("return page.scene.boxes.map((box) => [box.y, box.h])")
    assert all(next_y > y + h for (y, h), (next_y, _) in zip(places, places[1:], strict=False)), "one below the other"
    edges = browser.run("return page.scene.edges.map((edge) => [edge.from.title, edge.to.title, edge.values.length])")
    assert sorted(edges) == sorted([["x", "Relu", 1], ["Relu", "Neg", 1], ["Neg", "Block 1 of 12", 1], *[[f"Block {i} of 12", f"Block {i + 1} of 12", 1] for i in range(1, 12)],
                                    ["Block 12 of 12", "ReduceMax", 1], ["ReduceMax", "y", 1]])
    browser.one("#graph").send_keys("b")
    assert blocks(browser) == [] and browser.one("#blocks").get_attribute("aria-pressed") == "false"
    assert_apart(browser, explanation)


def test_a_block_tells_of_its_nodes_and_opens(browser, layered):
    browser.open(layered[0])
    browser.one("#graph").send_keys("b")
    browser.run("page.select(page.scene.boxes.find((box) => box.title === 'Block 3 of 12'))")
    panel = browser.text("#selected")
    assert "Block 3 of 12" in panel and "MatMul 2" in panel and "layers.2/query" in panel
    assert {part.strip() for part in panel.splitlines()[panel.splitlines().index("devices") + 1].split(",")} == {"CPU:0 7", "SIM:0 1"}
    browser.one("#open-block").click()
    assert "Block 3 of 12" not in dict(blocks(browser)) and len(blocks(browser)) == 11
    browser.run("page.selectNode(page.nodes.findIndex((node) => node.node === 'layers.7/scores'))")
    assert browser.text("#selected").startswith("MatMul") and len(blocks(browser)) == 10
    browser.one("#graph").send_keys(Keys.ENTER)
    assert browser.text("#selected").startswith("Block 8 of 12") and len(blocks(browser)) == 11
    browser.run("document.getElementById('graph').focus()")
    browser.one("#graph").send_keys(Keys.ENTER)
    assert len(blocks(browser)) == 10
    browser.one("#search").send_keys("layers.5/mixed")
    assert browser.text("#found") == "1 found"
    assert browser.run("return page.marks.matches.map((box) => box.title)") == ["Block 6 of 12"]
    browser.one("#search").send_keys(Keys.ENTER)
    assert "layers.5/mixed" in browser.text("#selected") and len(blocks(browser)) == 9
    place = browser.run("const box = page.scene.boxes.find((each) => each.title === 'Block 1 of 12'); page.show(box); return page.positionOf('layers.0/query')")
    browser.run("document.getElementById('graph').dispatchEvent(new MouseEvent('dblclick', {clientX: arguments[0], clientY: arguments[1]}))", place["x"] + 30, place["y"] + 20)
    assert len(blocks(browser)) == 8


def test_copies_into_a_block_are_drawn(browser, layered, tmp_path):
    """Adds on another device: copies inside a block are not drawn, those of what it reads are."""
    browser.open(layered[0])
    copies = "return page.scene.edges.filter((edge) => edge.copy).length"
    assert browser.run(copies) == 36
    browser.one("#blocks").click()
    assert browser.run(copies) == 12
    browser.run("page.setClosed(page.blocks[4], false)")
    assert browser.run(copies) == 14


def test_a_thousand_nodes_in_blocks(browser, tmp_path):
    onnx.save(layered_model(124), tmp_path / "deep.onnx")
    explanation = facts("explain", tmp_path / "deep.onnx", "--config", write_plain(tmp_path), "--html", tmp_path / "page.html")
    assert len(explanation["nodes"]) == 995
    browser.open(tmp_path / "page.html")
    assert int(browser.run("return document.documentElement.dataset.readyMs")) < 30_000
    took = browser.run("const start = performance.now(); document.getElementById('blocks').click(); return performance.now() - start")
    assert len(blocks(browser)) == 124 and took < 5000  # dead or alive
    browser.one("#columns").click()
    width, height = browser.run("return [page.scene.width, page.scene.height]")
    assert 0.3 < height / width < 3


def test_graphs_without_repetition_offer_no_blocks(browser, mixed):
    browser.open(mixed[0])
    assert not browser.one("#blocks").is_displayed()
    browser.one("#graph").send_keys("b")
    assert blocks(browser) == []


def write_plain(folder):
    (folder / "plain.json").write_text(json.dumps({"session": {"optimization": "none"}}))
    return folder / "plain.json"


@pytest.mark.parametrize("count", [1000, 10_000])
def test_large_graphs(browser, tmp_path, count, record_property):
    onnx.save(branchy_model(count), tmp_path / "large.onnx")
    gantry("explain", tmp_path / "large.onnx", "--html", tmp_path / "page.html")
    browser.open(tmp_path / "page.html")
    ready = int(browser.run("return document.documentElement.dataset.readyMs"))
    frame = browser.run("""
        const {drawing, camera} = page, start = performance.now();
        for (let i = 0; i < 20; i++) { camera.y += 40; drawing.draw(drawing.canvas.getContext('2d'), camera, drawing.width, drawing.height, 1); }
        return (performance.now() - start) / 20;""")
    browser.one("#fit").click()
    whole = browser.run("""
        const {drawing, camera} = page, start = performance.now();
        drawing.draw(drawing.canvas.getContext('2d'), camera, drawing.width, drawing.height, 1);
        return performance.now() - start;""")
    size = (tmp_path / "page.html").stat().st_size
    record_property("page", f"{count} nodes: {size / 1e6:.1f} MB, ready in {ready} ms, a frame {frame:.1f} ms, all of it {whole:.1f} ms")
    print(f"{count} nodes: {size / 1e6:.1f} MB, ready in {ready} ms, a frame {frame:.1f} ms, all of it {whole:.1f} ms")
    assert ready < 30_000 and frame < 1000  # dead or alive; the figures are for the reader
    browser.one("#search").send_keys(f"node_{count - 1}")
    browser.one("#search").send_keys(Keys.ENTER)
    assert f"node_{count - 1}" in browser.text("#selected")
    place = browser.run("return page.positionOf(arguments[0])", f"block_{(count - 1) // 12}/node_{count - 1}")
    assert 0 < place["x"] < 1400 and 0 < place["y"] < 900 and place["width"] > 60
