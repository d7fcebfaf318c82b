# SPDX-License-Identifier: Apache-2.0
"""Tensors in the memory of a device, and bindings of them, over the simulated accelerator: tests/providers/cuda/sharing_test.py has what other libraries see."""

import gc
import threading
import time
import weakref

import ml_dtypes
import numpy as np
import pytest
from broken_models import make_model
from onnx import TensorProto, helper

import gantry
import gantry.onnxruntime as ort

SIM = {"placement": {"prefer": ["SIM:0", "CPU"], "fallback": "allow"}}
ONES = np.ones((2, 3), np.float32)


def tensor(name, shape=("n", 3), kind=TensorProto.FLOAT):
    return helper.make_tensor_value_info(name, kind, shape)


def step_model():
    """A state that goes from run to run: next = state + x, y = Relu(next)."""
    nodes = [helper.make_node("Add", ["state", "x"], ["next"]), helper.make_node("Relu", ["next"], ["y"])]
    return make_model(nodes, [tensor("state"), tensor("x")], [tensor("next"), tensor("y")])


def session_of(model=None, **more):
    return gantry.Session(model or step_model(), config=SIM, **more)


def on_device(session, array):
    made = session.allocate_on("SIM:0", array.dtype, array.shape)
    made.copy_from(array)
    return made


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.int64, np.bool_, np.float16, ml_dtypes.bfloat16, ml_dtypes.int4])
def test_elements_go_there_and_back(dtype):
    session = session_of()
    given = np.array([[1, 0, 3], [0, 5, 6]]).astype(dtype)
    there = on_device(session, given)
    name = np.dtype(dtype).name
    assert (there.device, there.dtype, there.shape) == ("SIM:0", name, (2, 3))
    assert there.size_bytes == (3 if name == "int4" else given.nbytes)
    assert there.address != 0
    back = there.numpy()
    assert back.dtype == given.dtype
    np.testing.assert_array_equal(back, given)
    assert not np.shares_memory(back, there.numpy())
    assert repr(there) == f"Tensor(device='SIM:0', dtype='{name}', shape=(2, 3))"
    other = session.allocate_on("SIM:0", name, given.shape)
    other.copy_from(there)
    np.testing.assert_array_equal(other.numpy(), given)
    assert session.allocate_on("SIM:0", dtype, (0, 3)).numpy().shape == (0, 3)


def test_an_input_of_a_run():
    session = session_of()
    for _ in range(4):
        outputs = session.run({"state": on_device(session, ONES), "x": 2 * ONES})
        assert isinstance(outputs["next"], np.ndarray)
        np.testing.assert_array_equal(outputs["next"], 3 * ONES)


def test_what_one_run_makes_the_next_reads():
    session = session_of()
    states = [on_device(session, 0 * ONES), session.allocate_on("SIM:0", "float32", [2, 3])]
    binding = gantry.Binding(session)
    x = ONES.copy()
    binding.input("x", x)
    for run in range(9):
        x[...] = run  # the array is shared
        binding.input("state", states[run % 2])
        binding.output("next", states[(run + 1) % 2])
        binding.run()
        assert binding.result("next") is states[(run + 1) % 2]
        np.testing.assert_array_equal(binding.result("y"), sum(range(run + 1)) * ONES)
    np.testing.assert_array_equal(states[1].numpy(), 36 * ONES)


def test_a_cache_is_written_where_it_lies():
    session = session_of()
    state = on_device(session, ONES)
    binding = gantry.Binding(session)
    binding.input("state", state)
    binding.input("x", ONES)
    binding.output("next", state)
    for _ in range(5):
        binding.run()
    np.testing.assert_array_equal(state.numpy(), 6 * ONES)


def test_outputs_are_left_on_a_device():
    session = session_of()
    binding = gantry.Binding(session)
    binding.input("state", ONES)
    binding.input("x", ONES)
    binding.output_on("next", "SIM:0")
    binding.output_on("y", "SIM:0")
    binding.run()
    first = binding.result("next")
    assert isinstance(first, gantry.Tensor) and first.shape == (2, 3)
    kept = first.address
    binding.run()
    assert binding.result("next").address != kept, "the first is still in use"
    del first
    last = binding.result("next").address
    for _ in range(4):
        binding.run()
        assert binding.result("next").address == last
    binding.input("state", np.ones((4, 3), np.float32))
    binding.input("x", np.ones((4, 3), np.float32))
    binding.run()
    np.testing.assert_array_equal(binding.result("y").numpy(), 2 * np.ones((4, 3)))
    # One run's output is the next one's input.
    binding.input("state", binding.result("next"))
    binding.run()
    np.testing.assert_array_equal(binding.result("next").numpy(), 3 * np.ones((4, 3)))


def test_outputs_into_arrays():
    session = gantry.Session(step_model(), device="CPU")
    binding = gantry.Binding(session)
    target = np.zeros((2, 3), np.float32)
    binding.input("state", ONES)
    binding.input("x", ONES)
    binding.output("next", target)
    binding.run()
    assert binding.result("next") is target
    np.testing.assert_array_equal(target, 2 * ONES)
    assert isinstance(binding.result("y"), np.ndarray)


def test_lifetimes():
    session = session_of()
    kept = on_device(session, 7 * ONES)
    binding = gantry.Binding(session)
    binding.input("state", kept)
    binding.input("x", ONES)
    binding.output_on("next", "SIM:0")
    del session
    gc.collect()
    binding.run()  # which keeps its session
    made = binding.result("next")
    del binding
    gc.collect()
    np.testing.assert_array_equal(kept.numpy(), 7 * ONES)
    np.testing.assert_array_equal(made.numpy(), 8 * ONES)
    made.copy_from(kept)
    other = session_of()
    np.testing.assert_array_equal(other.run({"state": made, "x": kept})["next"], 14 * ONES)


def test_memory_that_the_program_has_otherwise():
    session = session_of()
    whole = on_device(session, np.arange(96, dtype=np.float32).reshape(32, 3))

    class Owner:
        pass

    owner = Owner()
    gone = []
    weakref.finalize(owner, gone.append, 1)
    part = session.borrow_on("SIM:0", "float32", [2, 3], whole.address + 192, owner)
    del owner
    np.testing.assert_array_equal(session.run({"state": part, "x": 0 * ONES})["next"], whole.numpy()[16:18])
    assert not gone
    del part
    gc.collect()
    assert gone
    with pytest.raises(gantry.InvalidArgumentError, match="borrow_on: expected an address that is a multiple of 64, found"):
        session.borrow_on("SIM:0", "float32", [2, 3], whole.address + 4)


def test_mistakes_are_named():
    session = session_of()
    there = on_device(session, ONES)
    binding = gantry.Binding(session)
    cpu = gantry.Session(step_model(), device="CPU")
    read_only = ONES.copy()
    read_only.flags.writeable = False
    for call, said in [
        (lambda: session.allocate_on("SIM:1", "float32", [1]), r"allocate_on: expected a device .*\(SIM:0\), found SIM:1"),
        (lambda: session.allocate_on("CPU", "float32", [1]), r"memory of its own .*\(SIM:0\), found CPU:0"),
        (lambda: session.allocate_on("SIM:0", "float33", [1]), "dtype: expected an element type of ONNX.*found 'float33'"),
        (lambda: session.allocate_on("SIM:0", "object", [1]), "expected a type of numbers, found string"),
        (lambda: session.allocate_on("SIM:0", "float32", 3), "shape: expected a sequence of numbers, found an int"),
        (lambda: session.allocate_on("SIM:0", "float32", [-1]), "-1"),
        (lambda: there.copy_from(ONES.astype(np.float64)), r"copy: expected two tensors .*found float64\[2,3\] and float32\[2,3\]"),
        (lambda: there.copy_from(ONES[:1]), r"found float32\[1,3\] and float32\[2,3\]"),
        (lambda: session.run({"state": there}), 'input "x" is missing'),
        (lambda: session.run({"state": there, "x": there, "z": there}), 'input "z": the model has no such input'),
        (lambda: session.run({"state": session.allocate_on("SIM:0", "int8", [2, 3]), "x": ONES}), r'input "state": expected float32\[n,3\], found int8\[2,3\]'),
        (lambda: cpu.run({"state": there, "x": ONES}), "is in the memory of SIM:0, expected host memory or that of a device that the session uses"),
        (lambda: binding.run(), 'input "state" is not bound; expected float32'),
        (lambda: binding.input("z", ONES), 'input "z": the model has no such input'),
        (lambda: binding.input("x", ONES.astype(int)), r'input "x": expected float32\[n,3\], found int64\[2,3\]'),
        (lambda: binding.output("z", there), 'output "z": the model has no such output'),
        (lambda: binding.output("y", session.allocate_on("SIM:0", "int8", [2, 3])), r'output "y": expected float32\[n,3\], found int8\[2,3\]'),
        (lambda: binding.output("y", np.zeros((3, 2), np.float32).T), 'output "y": expected a contiguous, aligned array .*found one that is not contiguous'),
        (lambda: binding.output("y", read_only), "or is read-only"),
        (lambda: binding.output("y", np.zeros(2, object)), "found one of object"),
        (lambda: binding.output("y", [1, 2]), 'output "y": .*found a list'),
        (lambda: binding.output_on("y", "SIM:1"), r'output "y": expected a device .*\(SIM:0\), found SIM:1'),
        (lambda: binding.result("y"), 'output "y": nothing has run yet'),
        (lambda: session.from_dlpack(ONES), "from_dlpack: .*in host memory, which is an input as it is"),
    ]:
        with pytest.raises(gantry.InvalidArgumentError, match=said):
            call()
    binding.input("state", there)
    binding.input("x", ONES)
    binding.output("y", session.allocate_on("SIM:0", "float32", [4, 3]))
    with pytest.raises(gantry.InvalidArgumentError, match=r'output "y": the bound tensor is float32\[4,3\], this run makes float32\[2,3\]'):
        binding.run()
    binding.output("y", there)
    binding.run()
    with pytest.raises(TypeError):
        gantry.Binding(None)


def test_other_libraries_cannot_use_simulated_memory():
    there = on_device(session_of(), ONES)
    for call in (there.__dlpack_device__, there.__dlpack__):
        with pytest.raises(BufferError, match="in the memory of SIM:0, which other libraries cannot use; copy it to the host for them"):
            call()
    np.testing.assert_array_equal(np.from_dlpack(Host(there)), ONES)
    with pytest.raises(BufferError, match="copy=False"):
        there.__dlpack__(dl_device=(1, 0), copy=False)


class Host:
    """Asks a tensor for a copy on the host, as a library does that has host memory only."""

    def __init__(self, given):
        self.given = given

    def __dlpack__(self, **options):
        return self.given.__dlpack__(**{**options, "dl_device": (1, 0)})

    def __dlpack_device__(self):
        return (1, 0)


def loop_model():
    body = helper.make_graph(
        [helper.make_node("Identity", ["cond"], ["again"]), helper.make_node("Identity", ["a"], ["b"])], "body",
        [tensor("i", [], TensorProto.INT64), tensor("cond", [], TensorProto.BOOL), tensor("a", [1])], [tensor("again", [], TensorProto.BOOL), tensor("b", [1])])
    nodes = [helper.make_node("Loop", ["count", "", "x"], ["y"], body=body)]
    return make_model(nodes, [tensor("count", [], TensorProto.INT64), tensor("x", [1])], [tensor("y", [1])])


def test_a_run_leaves_the_interpreter_free_and_can_be_ended():
    session = gantry.Session(loop_model(), device="CPU")
    binding = gantry.Binding(session)
    binding.input("count", np.array(1 << 40))
    binding.input("x", np.ones(1, np.float32))
    with pytest.raises(gantry.DeadlineExceededError):
        binding.run(timeout=0.05)
    token, said = gantry.CancelToken(), []

    def work():
        try:
            binding.run(cancel=token)
        except gantry.CancelledError as error:
            said.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    refused = None
    while refused is None:  # until the thread is inside
        try:
            binding.result("y")
        except gantry.InvalidArgumentError as error:
            refused = str(error) if "one thread at a time" in str(error) else None
        time.sleep(0.001)
    assert "make a Binding for each thread" in refused
    token.cancel()
    thread.join(timeout=30)
    assert len(said) == 1
    binding.input("count", np.array(3))
    binding.run()
    assert binding.result("y").tolist() == [1]


def test_nothing_is_left_behind():
    session = session_of()
    binding = gantry.Binding(session)
    binding.input("state", ONES)
    binding.input("x", ONES)

    def work(count):
        for _ in range(count):
            binding.output_on("next", "SIM:0")
            binding.run()
            there = on_device(session, ONES)
            binding.output("next", there)
            binding.run()
            binding.result("next").numpy()
            with pytest.raises(gantry.InvalidArgumentError):
                binding.output("next", [])

    work(10)
    gc.collect()
    before = len(gc.get_objects())
    work(100)
    gc.collect()
    assert len(gc.get_objects()) - before < 100


def test_the_drop_in_binds_devices():
    session = ort.InferenceSession(step_model().SerializeToString(), providers=["SIMExecutionProvider", "CPUExecutionProvider"])
    state = ort.OrtValue.ortvalue_from_numpy(ONES, "sim", 0)
    assert (state.device_name(), state.shape(), state.data_type(), state.element_type()) == ("sim", [2, 3], "tensor(float)", 1)
    assert (state.is_tensor(), state.has_value(), state.tensor_size_in_bytes(), state.data_ptr()) == (True, True, 24, state.value.address)
    np.testing.assert_array_equal(np.asarray(state), ONES)
    x = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32, "sim")
    x.update_inplace(2 * ONES)
    np.testing.assert_array_equal(x.numpy(), 2 * ONES)
    made = session.run_with_ort_values(["next"], {"state": state, "x": x})
    np.testing.assert_array_equal(made[0].numpy(), 3 * ONES)

    binding = session.io_binding()
    binding.bind_ortvalue_input("state", state)
    binding.bind_ortvalue_output("next", state)
    binding.bind_input("x", "sim", 0, np.float32, [2, 3], x.data_ptr())
    binding.bind_output("y", "sim", 0)
    for _ in range(3):
        session.run_with_iobinding(binding)
    results = binding.get_outputs()
    assert [result.device_name() for result in results] == ["sim", "sim"]
    assert results[0].data_ptr() == state.data_ptr()
    np.testing.assert_array_equal(state.numpy(), 7 * ONES)
    np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[1], 7 * ONES)

    # The same names anew: to memory of the device by its address, and to the host.
    target = ort.OrtValue.ortvalue_from_shape_and_type([2, 3], np.float32, "sim")
    binding.clear_binding_outputs()
    binding.bind_output("y", "sim", 0, np.float32, [2, 3], target.data_ptr())
    binding.bind_output("next", "sim")
    binding.bind_output("next")
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(target.numpy(), 9 * ONES)
    assert isinstance(binding.get_outputs()[1].value, np.ndarray)
    with pytest.raises(gantry.InvalidArgumentError, match=r"\(SIM:0\), found SIM:1"):
        binding.bind_output("y", "sim", 1)
    with pytest.raises(gantry.NotFoundError, match="NONESUCH"):
        ort.OrtValue.ortvalue_from_numpy(ONES, "nonesuch", 0)


def test_the_drop_in_writes_into_what_is_bound():
    nodes = [helper.make_node("Identity", ["x"], ["y"]), helper.make_node("Identity", ["s"], ["t"])]
    model = make_model(nodes, [tensor("x"), tensor("s", [2], TensorProto.STRING)], [tensor("y"), tensor("t", [2], TensorProto.STRING)])
    session = ort.InferenceSession(model)
    binding = session.io_binding()
    binding.bind_cpu_input("x", ONES)
    binding.bind_cpu_input("s", np.array(["a", "b"], object))
    gaps, texts = np.zeros((3, 2), np.float32).T, np.array(["", ""], object)
    binding.bind_ortvalue_output("y", ort.OrtValue(gaps))  # copied there
    binding.bind_ortvalue_output("t", ort.OrtValue(texts))
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(gaps, ONES)
    assert texts.tolist() == ["a", "b"]
    binding.clear_binding_inputs()
    with pytest.raises(gantry.InvalidArgumentError, match='input "x" is not bound'):
        session.run_with_iobinding(binding)
