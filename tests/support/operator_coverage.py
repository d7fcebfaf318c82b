# SPDX-License-Identifier: Apache-2.0
"""How much of each ONNX operator runs on the CPU: what the device says it takes, and which cases of the standard's suite passed.

Versions, types and the provider come from gantry.check on models made of the schemas (operator_probe.py), which places and compiles nothing;
attributes and cases from the models that the suite ran.
"""

import dataclasses
import itertools

import onnx
from onnx import defs
from operator_probe import default_types, probe_model, variables

import gantry

DEVICE = "CPU"


@dataclasses.dataclass
class Covered:
    """Things that are there, and those of them that are covered."""

    all: set = dataclasses.field(default_factory=set)
    covered: set = dataclasses.field(default_factory=set)

    def add(self, item, is_covered):
        self.all.add(item)
        if is_covered:
            self.covered.add(item)

    @property
    def missing(self):
        return sorted(self.all - self.covered)


@dataclasses.dataclass
class Operator:
    """One operator; types are pairs of a type variable of the newest version and a type, "T: float"."""

    domain: str
    op_type: str
    provider: str = ""
    versions: Covered = dataclasses.field(default_factory=Covered)
    types: Covered = dataclasses.field(default_factory=Covered)
    attributes: Covered = dataclasses.field(default_factory=Covered)
    cases: Covered = dataclasses.field(default_factory=Covered)

    @property
    def name(self):
        return f"{self.domain}.{self.op_type}" if self.domain else self.op_type


def short_type(text):
    """ "float" for "tensor(float)"; other kinds as they are."""
    return text.removeprefix("tensor(").removesuffix(")") if text.startswith("tensor(") else text


def _ask(schema, types):
    """The node's row of the placement, None if it is refused; a list if its function body runs instead."""
    try:
        answer = gantry.check(probe_model(schema, types), DEVICE)
    except gantry.UnsupportedError:
        return None
    if not answer.compatible:
        return None
    return next((row for row in answer.nodes if row.op_type == schema.name), list(answer.nodes))


def _who(answer):
    if isinstance(answer, list):
        return "function body" if answer else "core"  # of a Constant nothing is left to run
    return answer.provider


def _probe_types(operator, schema):
    for variable in variables(schema):
        constraint = next(c for c in schema.type_constraints if c.type_param_str == variable)
        for text in sorted(constraint.allowed_type_strs):
            try:
                answer = _ask(schema, default_types(schema) | {variable: text})
            except gantry.InvalidModelError:
                continue  # not together with the types of the other variables
            operator.types.add(f"{variable}: {short_type(text)}", answer is not None)


def _schemas():
    """Those that are not deprecated, oldest first."""
    return sorted((s for s in defs.get_all_schemas_with_history() if not s.deprecated), key=lambda s: s.since_version)


def probe_operators():
    """(domain, op_type) -> Operator, for every operator that has a version which is not deprecated; cases still empty."""
    operators = {}
    schemas = _schemas()
    newest = {(schema.domain, schema.name): schema.since_version for schema in schemas}
    for schema in schemas:
        operator = operators.setdefault((schema.domain, schema.name), Operator(schema.domain, schema.name))
        answer = _ask(schema, default_types(schema))
        operator.versions.add(schema.since_version, answer is not None)
        if schema.since_version == newest[schema.domain, schema.name]:
            operator.attributes.all = set(schema.attributes)
            operator.provider = _who(answer) if answer is not None else ""
            _probe_types(operator, schema)
    return operators


def _choices(schema):
    """Types for one of its variables, and for each two of them, the others as default_types has them."""
    allowed = {c.type_param_str: sorted(c.allowed_type_strs) for c in schema.type_constraints}
    chosen = variables(schema)
    for variable in chosen:
        yield from ({variable: text} for text in allowed[variable])
    for a, b in itertools.combinations(chosen, 2):
        yield from ({a: first, b: second} for first in allowed[a] for second in allowed[b])


def refused_types():
    """{(domain, op_type): (types "T: float" that the device takes in no combination, those that it takes in some only)}, of all versions; and how many
    models were asked about."""
    refused, asked = {}, 0
    for schema in _schemas():
        answers = {}
        for types in _choices(schema):
            try:
                answer = _ask(schema, default_types(schema) | types)
            except gantry.InvalidModelError:
                continue  # not together with the types of the other variables
            asked += 1
            for variable, text in types.items():
                answers.setdefault(f"{variable}: {short_type(text)}", []).append(answer is not None)
        found = {types for types, taken in answers.items() if not any(taken)}
        partly = {types for types, taken in answers.items() if any(taken) and not all(taken)}
        known = refused.setdefault((schema.domain, schema.name), (set(), set()))
        known[0].update(found)
        known[1].update(partly)
    return {key: found for key, found in refused.items() if any(found)}, asked


@dataclasses.dataclass(frozen=True)
class Use:
    """An operator as a model uses it."""

    domain: str
    op_type: str
    attributes: frozenset
    is_top_level: bool


def uses_of(model):
    """The operators of a model, of its bodies and functions."""
    found = set()

    def look(nodes, is_top_level):
        for node in nodes:
            domain = "" if node.domain == "ai.onnx" else node.domain
            found.add(Use(domain, node.op_type, frozenset(a.name for a in node.attribute), is_top_level))
            for attribute in node.attribute:
                for graph in (attribute.g, *attribute.graphs):
                    look(graph.node, False)

    look(model.graph.node, True)
    for function in model.functions:
        look(function.node, False)
    return found


def count(outcomes):
    """The operators with what the suite's cases say of them. `outcomes`: case -> (uses, passed)."""
    operators = probe_operators()
    for case, (uses, passed) in outcomes.items():
        for use in uses:
            operator = operators.get((use.domain, use.op_type))
            if operator is None:
                continue
            operator.cases.add(case, passed)
            if passed:
                operator.attributes.covered |= use.attributes & operator.attributes.all
    return operators


def suite_line(outcomes):
    """The line with which the suite's own report begins: operators at the top level of models whose case passed, of all models that it loaded,
    and all operators of the standard."""
    loaded = {use.op_type for uses, _ in outcomes.values() for use in uses if use.is_top_level}
    passed = {use.op_type for uses, is_good in outcomes.values() if is_good for use in uses if use.is_top_level}
    return f"Operators (passed/loaded/total): {len(passed)}/{len(loaded)}/{len(defs.get_all_schemas())}"


def standard():
    """Which standard is meant."""
    return f"onnx {onnx.__version__}, opset {defs.onnx_opset_version()}"
