# SPDX-License-Identifier: Apache-2.0
"""Models of one node made from an operator's schema alone, to ask a device whether it would take them.

Inputs have no shapes, and only what the schema requires is there. The models are valid; they are not made to be run.
"""

import re

import onnx
from onnx import TensorProto, TypeProto, defs, helper

# What a schema does not tell of attributes: values that make a model of the operator valid.
ATTRIBUTES = {
    ("BatchNormalization", "consumed_inputs"): [0, 0, 0, 1, 1],
    ("BitShift", "direction"): "LEFT",
    ("CategoryMapper", "cats_int64s"): [1],
    ("CategoryMapper", "cats_strings"): ["x"],
    ("Concat", "axis"): 0,
    ("ConcatFromSequence", "axis"): 0,
    ("DictVectorizer", "string_vocabulary"): ["x"],
    ("Einsum", "equation"): "i->i",
    ("Gradient", "xs"): ["x0"],
    ("Gradient", "y"): "g",
    ("LRN", "size"): 3,
    ("LinearAttention", "update_rule"): "linear",
    ("Momentum", "mode"): "standard",
    ("Scan", "num_scan_inputs"): 1,
    ("TfIdfVectorizer", "mode"): "TF",
    ("TfIdfVectorizer", "ngram_counts"): [0],
    ("TfIdfVectorizer", "ngram_indexes"): [0],
    ("TfIdfVectorizer", "pool_int64s"): [1],
    ("TreeEnsemble", "leaf_targetids"): [0, 0],
    ("TreeEnsemble", "nodes_falseleafs"): [1],
    ("TreeEnsemble", "nodes_trueleafs"): [1],
    ("TreeEnsemble", "nodes_truenodeids"): [0],
    ("TreeEnsemble", "nodes_falsenodeids"): [1],
    ("TreeEnsemble", "nodes_featureids"): [0],
    ("TreeEnsemble", "tree_roots"): [0],
    ("TreeEnsembleClassifier", "classlabels_int64s"): [0, 1],
    ("Upsample", "scales"): [1.0, 1.0],
    ("ZipMap", "classlabels_int64s"): [1],
}

# How often a variadic input is there, where once is not enough.
ARITIES = {"Adagrad": 3, "Adam": 4, "Momentum": 3, "SequenceMap": 0}
OUTPUTS = {"Adagrad": 2, "Adam": 3, "Momentum": 2}

# Shapes of inputs where the operator's function body or derivative depends on the rank.
SHAPES = {
    "CausalConvWithState": ([1, 2, 4], [2, 1, 3]),
    "FlexAttention": ([1, 2, 3, 4], [1, 2, 3, 4], [1, 2, 3, 4]),
    "Gradient": ([2],),
    "RotaryEmbedding": ([1, 2, 4, 8], [1, 4, 4], [1, 4, 4]),
}

# Attributes that give the element type of the output, where no input does.
TYPE_ATTRIBUTES = ("to", "dtype", "output_dtype", "output_datatype")

_BASIC = {
    defs.OpSchema.AttrType.INT: 1,
    defs.OpSchema.AttrType.FLOAT: 1.0,
    defs.OpSchema.AttrType.STRING: "x",
    defs.OpSchema.AttrType.INTS: [1, 1],
    defs.OpSchema.AttrType.FLOATS: [1.0],
    defs.OpSchema.AttrType.STRINGS: ["x"],
}


def element_type(name):
    """ONNX's number for "float" in "tensor(float)"."""
    return TensorProto.DataType.Value(name.upper())


def parse_type(text):
    """The TypeProto of a schema's type string: "tensor(float)", "seq(tensor(int64))", "map(string, float)"."""
    kind, inner = re.fullmatch(r"(\w+)\((.*)\)", text).groups()
    result = TypeProto()
    if kind == "tensor":
        result.tensor_type.elem_type = element_type(inner)
    elif kind == "sparse_tensor":
        result.sparse_tensor_type.elem_type = element_type(inner)
    elif kind == "seq":
        result.sequence_type.elem_type.CopyFrom(parse_type(inner))
    elif kind == "optional":
        result.optional_type.elem_type.CopyFrom(parse_type(inner))
    elif kind == "map":
        key, value = inner.split(",")
        result.map_type.key_type = element_type(key.strip())
        result.map_type.value_type.CopyFrom(parse_type(f"tensor({value.strip()})"))
    else:
        raise ValueError(f"there is no type {text}")
    return result


def innermost(text):
    """ "float" of "seq(tensor(float))", the value type of a map."""
    return re.search(r"(\w+)\)*$", text).group(1)


# The types that a type variable has while another is varied, best first.
PREFERRED = ("tensor(float)", "seq(tensor(float))", "optional(tensor(float))", "tensor(uint8)", "tensor(int64)", "map(string, float)")


def default_types(schema):
    """A type for each of the schema's type variables: float where it is allowed."""
    result = {}
    for constraint in schema.type_constraints:
        allowed = sorted(constraint.allowed_type_strs)
        preferred = [name for name in PREFERRED if name in allowed]
        result[constraint.type_param_str] = (preferred or allowed)[0]
    return result


def _tensor_of(type_name, count=1):
    dtype = element_type(innermost(type_name))
    return helper.make_tensor("value", dtype, [count], [b"1"] * count if dtype == TensorProto.STRING else [1] * count)


def _body(name, inputs, outputs):
    """A graph that hands inputs on: `inputs`: name -> type; `outputs`: (name, the input that it is)."""
    nodes = [helper.make_node("Identity", [source], [target]) for target, source in outputs]
    infos = [helper.make_value_info(key, parse_type(text)) for key, text in inputs.items()]
    return helper.make_graph(nodes, name, infos, [helper.make_value_info(t, parse_type(inputs[s])) for t, s in outputs])


def _branch(type_name):
    """A body of If: a value of the type from outside."""
    return helper.make_graph([helper.make_node("Identity", ["outer"], ["out"])], "branch", [],
                             [helper.make_value_info("out", parse_type(type_name))])


def _graph_attributes(schema, types):
    op_type = schema.name
    if op_type == "If":
        return {"then_branch": _branch(types["V"]), "else_branch": _branch(types["V"])}
    if op_type == "Loop":
        state = {"i": "tensor(int64)", "go": "tensor(bool)", "s": types["V"]}
        return {"body": _body("body", state, [("go_on", "go"), ("t", "s")])}
    if op_type == "Scan":
        return {"body": _body("body", {"s": types["V"]}, [("t", "s")])}
    return {"body": _body("body", {"s": types["S"].removeprefix("seq(").removesuffix(")")}, [("t", "s")])}


def _kind(type_name):
    """How attributes of ai.onnx.ml call lists of the type: "strings", "int64s", "floats"; "tensor" for what has no such list."""
    return {"string": "strings", "int64": "int64s", "float": "floats"}.get(innermost(type_name), "tensor")


def _label_attributes(schema, types):
    """Of the operators of ai.onnx.ml whose types stand in the names of their attributes."""
    if schema.name == "OneHotEncoder":
        return {"cats_strings": ["x"]} if types["T"] == "tensor(string)" else {"cats_int64s": [1]}
    if schema.name != "LabelEncoder":
        return {}
    if schema.since_version == 1:
        return {"classes_strings": ["x"]}
    result = {}
    for side, type_name in (("keys", types["T1"]), ("values", types["T2"])):
        values = {"strings": ["x"], "int64s": [1], "floats": [1.0]}
        result[f"{side}_{_kind(type_name)}"] = values.get(_kind(type_name)) or _tensor_of(type_name)
    return result


def _tensor_attribute(name, types):
    """Of TreeEnsemble."""
    if name == "nodes_modes":
        return helper.make_tensor("value", TensorProto.UINT8, [1], [0])
    return _tensor_of(types["T"], 2 if name == "leaf_weights" else 1)


def _attributes(schema, types, decided):
    """`decided`: type strings of outputs that an attribute decides."""
    result = {}
    kinds = defs.OpSchema.AttrType
    for name, attribute in schema.attributes.items():
        if name in TYPE_ATTRIBUTES and decided and attribute.type in (kinds.INT, kinds.STRING):
            dtype = element_type(innermost(types[decided[0]]))
            result[name] = dtype if attribute.type == kinds.INT else TensorProto.DataType.Name(dtype)
        elif name == "value" and decided and attribute.type == kinds.TENSOR:
            result[name] = _tensor_of(types[decided[0]])
        elif attribute.type == kinds.TENSOR and attribute.required:
            result[name] = _tensor_attribute(name, types)
        elif (schema.name, name) in ATTRIBUTES:
            result[name] = ATTRIBUTES[schema.name, name]
        elif attribute.required and attribute.type in _BASIC:
            result[name] = _BASIC[attribute.type]
    if any(attribute.type == kinds.GRAPH and attribute.required for attribute in schema.attributes.values()):
        result |= _graph_attributes(schema, types)
    return result | _label_attributes(schema, types)


def _inputs(schema):
    """The type strings of a probe's inputs: the required ones, variadic ones as often as needed, and up to an optional one that alone
    decides an output's type."""
    option = defs.OpSchema.FormalParameterOption
    outputs = {parameter.type_str for parameter in schema.outputs}
    result, behind = [], []
    for position, parameter in enumerate(schema.inputs):
        if parameter.option == option.Variadic:
            result += [parameter.type_str] * ARITIES.get(schema.name, 1)
        elif parameter.option == option.Single or position < schema.min_input:
            result.append(parameter.type_str)
        else:
            behind.append(parameter.type_str)
            if parameter.type_str in outputs - set(result):
                result += behind
                behind = []
    chosen = {"If": ["B", "V"], "Loop": ["tensor(int64)", "tensor(bool)", "V"], "Optional": ["V"], "Scan": ["V"]}
    return chosen.get(schema.name, result)


def decided_by_attributes(schema):
    """Type variables of outputs that no input has: an attribute decides them, if there is one for that."""
    inputs = _inputs(schema)
    if not any(name in TYPE_ATTRIBUTES or name == "value" for name in schema.attributes):
        return []
    return [parameter.type_str for parameter in schema.outputs if "(" not in parameter.type_str and parameter.type_str not in inputs]


def variables(schema):
    """Type variables that a probe can choose: of its inputs, and those that an attribute decides."""
    return list(dict.fromkeys([text for text in _inputs(schema) if "(" not in text] + decided_by_attributes(schema)))


def _untyped_model(schema, types):
    inputs = {f"x{i}": parse_type(types.get(text, text)) for i, text in enumerate(_inputs(schema))}
    for (name, value), shape in zip(inputs.items(), SHAPES.get(schema.name, ()), strict=False):
        inputs[name] = helper.make_tensor_type_proto(value.tensor_type.elem_type, shape)
    names = list(inputs)
    if schema.name == "If":
        inputs["outer"] = inputs.pop("x1")
        names.remove("x1")
    if schema.name == "Scan" and schema.since_version == 8:
        names.insert(0, "")
    outputs = [f"y{i}" for i in range(OUTPUTS.get(schema.name, max(schema.min_output, 1)))]
    node = helper.make_node(schema.name, names, outputs, domain=schema.domain, **_attributes(schema, types, decided_by_attributes(schema)))
    nodes = [helper.make_node("Mul", ["x0", "x0"], ["g"]), node] if schema.name == "Gradient" else [node]
    graph = helper.make_graph(nodes, "probe", [helper.make_value_info(*item) for item in inputs.items()],
                              [onnx.ValueInfoProto(name=name) for name in outputs])
    opsets = [helper.make_opsetid(schema.domain, schema.since_version)]
    if schema.domain:
        opsets.append(helper.make_opsetid("", onnx.defs.onnx_opset_version()))
    return helper.make_model(graph, opset_imports=opsets)


def probe_model(schema, types):
    """A model of one node of that version; `types`: the type string of each type variable.

    The outputs' types are what follows; where nothing does, the schema's. Of control flow the body hands its values on.
    """
    model = onnx.shape_inference.infer_shapes(_untyped_model(schema, types))
    for i, output in enumerate(model.graph.output):
        if output.type.WhichOneof("value") is None:
            text = schema.outputs[min(i, len(schema.outputs) - 1)].type_str
            output.type.CopyFrom(parse_type(types.get(text, text)))
    return model
