// SPDX-License-Identifier: Apache-2.0
// A library of operators for ONNX Runtime, in the domain "test.ops", that uses the parts of the
// interface that onnxruntime-extensions leaves out.
#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>

#include "sample_api.h"

namespace sample {
namespace {

constexpr int kRequired = 0;
constexpr int kOptional = 1;
constexpr int kVariadic = 2;

struct Kernel {
  std::string text;       // of an attribute, or what the kernel knows of its node
  float number = 0;       // likewise
  Handle info = nullptr;  // a copy that it owns
};

struct Slot {
  int type = kAny;
  int arity = kRequired;
};

// An operator: its declaration, and what makes and runs its kernels.
struct Op : CustomOp {
  std::string op_type;
  std::vector<Slot> inputs;
  std::vector<Slot> outputs;
  void (*make)(Kernel&, Handle info) = nullptr;
  void (*run)(const Kernel&, Handle context) = nullptr;
  int first = 1;

  Op(std::string called, std::vector<Slot> in, std::vector<Slot> out,
     void (*making)(Kernel&, Handle), void (*running)(const Kernel&, Handle))
      : op_type(std::move(called)),
        inputs(std::move(in)),
        outputs(std::move(out)),
        make(making),
        run(running) {
    name = [](const CustomOp* op) { return of(op).op_type.c_str(); };
    provider = [](const CustomOp*) -> const char* { return nullptr; };
    input_count = [](const CustomOp* op) { return of(op).inputs.size(); };
    output_count = [](const CustomOp* op) { return of(op).outputs.size(); };
    input_type = [](const CustomOp* op, size_t i) { return of(op).inputs[i].type; };
    output_type = [](const CustomOp* op, size_t i) { return of(op).outputs[i].type; };
    input_arity = [](const CustomOp* op, size_t i) { return of(op).inputs[i].arity; };
    output_arity = [](const CustomOp* op, size_t i) { return of(op).outputs[i].arity; };
    input_memory = [](const CustomOp*, size_t) { return 0; };
    least_inputs = least_outputs = [](const CustomOp*) { return 1; };
    inputs_alike = outputs_alike = [](const CustomOp*) { return 1; };
    first_version = [](const CustomOp* op) { return of(op).first; };
    last_version = [](const CustomOp*) { return 1000; };
    create_kernel = [](const CustomOp* op, Handle, Handle info) -> Handle {
      auto kernel = std::make_unique<Running>(Running{&of(op), {}});
      of(op).make(kernel->kernel, info);
      return kernel.release();
    };
    compute = [](Handle kernel, Handle context) {
      const auto& running = *static_cast<Running*>(kernel);
      running.op->run(running.kernel, context);
    };
    destroy = [](Handle kernel) {
      auto* running = static_cast<Running*>(kernel);
      if (running->kernel.info) call<void>(218, running->kernel.info);
      delete running;
    };
    // Errors as statuses; what an operator throws is a text.
    try_create_kernel = [](const CustomOp* op, Handle api, Handle info, Handle* kernel) -> Handle {
      try {
        *kernel = op->create_kernel(op, api, info);
        return nullptr;
      } catch (const std::string& message) {
        return fail(message);
      }
    };
    try_compute = [](Handle kernel, Handle context) -> Handle {
      try {
        const auto& running = *static_cast<Running*>(kernel);
        running.op->run(running.kernel, context);
        return nullptr;
      } catch (const std::string& message) {
        return fail(message);
      }
    };
  }

 private:
  struct Running {
    const Op* op;
    Kernel kernel;
  };
  static const Op& of(const CustomOp* op) { return static_cast<const Op&>(*op); }
};

void make_nothing(Kernel&, Handle) {}

// Describe: all that a kernel can learn of its node while it is made.
void make_description(Kernel& kernel, Handle info) {
  int64_t whole = 0;
  float real = 0;
  size_t inputs = 0;
  size_t outputs = 0;
  check(call(86, info, "whole", &whole));
  check(call(85, info, "real", &real));
  check(call(230, info, &inputs));
  check(call(231, info, &outputs));
  std::string& text = kernel.text;
  text = "whole " + std::to_string(whole) + " real " + std::to_string(real) + " text " +
         text_of(87, info, "text") + " nothing " + text_of(87, info, "nothing") + " node " +
         text_of(244, info);
  for (size_t i = 0; i < inputs; ++i) text += " in " + text_of(232, info, i);
  for (size_t i = 0; i < outputs; ++i) text += " out " + text_of(233, info, i);
  std::vector<int64_t> wholes(3);
  size_t count = wholes.size();
  check(call(163, info, "wholes", wholes.data(), &count));
  std::vector<float> reals(2);
  size_t real_count = reals.size();
  check(call(162, info, "reals", reals.data(), &real_count));
  for (size_t i = 0; i < count; ++i) text += " " + std::to_string(wholes[i]);
  for (size_t i = 0; i < real_count; ++i) text += " " + std::to_string(reals[i]);
  size_t room = 1;  // too little
  if (message_of(call(163, info, "wholes", wholes.data(), &room)).empty()) text += " no limit";
  text += " needs " + std::to_string(room);
  Handle allocator = nullptr;
  Handle tensor = nullptr;
  check(call(78, &allocator));
  check(call(236, info, "tensor", allocator, &tensor));
  text += " tensor " + std::to_string(data<float>(tensor)[1]) + " of " +
          std::to_string(count_of(tensor));
  call<void>(96, tensor);
  Handle type = nullptr;
  check(call(234, info, size_t{0}, &type));
  Handle shape = nullptr;
  check(call(55, type, &shape));
  text += " type " + shape_text(shape);
  call<void>(98, type);
  check(call(217, info, &kernel.info));
}
void describe(const Kernel& kernel, Handle context) {
  set_strings(output(context, 0, {2}), {kernel.text, text_of(87, kernel.info, "text")});
}

// Join: any number of strings, element by element, with a separator.
void make_join(Kernel& kernel, Handle info) { kernel.text = text_of(87, info, "separator"); }
void join(const Kernel& kernel, Handle context) {
  size_t count = 0;
  check(call(88, context, &count));
  std::vector<std::string> joined = strings(input(context, 0));
  for (size_t i = 1; i < count; ++i) {
    const std::vector<std::string> more = strings(input(context, i));
    for (size_t k = 0; k < joined.size(); ++k) joined[k] += kernel.text + more[k];
  }
  Handle made = output(context, 0, shape_of(input(context, 0)));
  for (size_t k = 0; k < joined.size(); ++k) {
    char* memory = nullptr;
    check(call(252, made, k, joined[k].size(), &memory));
    std::copy(joined[k].begin(), joined[k].end(), memory);
  }
}

// Scale: x times an optional factor, or 2; an optional second output has the number of elements.
template <class T>
void scale(const Kernel&, Handle context) {
  Handle x = input(context, 0);
  size_t inputs = 0;
  check(call(88, context, &inputs));
  Handle factor = inputs > 1 ? input(context, 1) : nullptr;
  const T by = factor ? *data<T>(factor) : T{2};
  T* y = data<T>(output(context, 0, shape_of(x)));
  for (size_t i = 0; i < count_of(x); ++i) y[i] = data<T>(x)[i] * by;
  size_t outputs = 0;
  check(call(89, context, &outputs));
  if (outputs < 2) return;
  if (Handle count = output(context, 1, {1}))
    *data<int64_t>(count) = static_cast<int64_t>(count_of(x));
}

// Same: a tensor of any type as it is.
void repeat(const Kernel&, Handle context) {
  Handle x = input(context, 0);
  Handle y = output(context, 0, shape_of(x));
  Handle type = nullptr;
  int dtype = 0;
  check(call(65, x, &type));
  check(call(60, type, &dtype));
  call<void>(99, type);
  if (dtype == kString) return set_strings(y, strings(x));
  size_t bytes = 0;
  check(call(318, x, &bytes));
  std::memcpy(data<char>(y), data<char>(x), bytes);
}

// AddFirst: x plus the first element of an input that is constant, or plus 100 if it is not.
void make_sum(Kernel& kernel, Handle info) {
  int is_constant = 0;
  Handle value = nullptr;
  check(call(249, info, size_t{1}, &is_constant, &value));
  kernel.number = is_constant ? data<float>(value)[0] : 100.0F;
}
void add_first(const Kernel& kernel, Handle context) {
  Handle x = input(context, 0);
  float* y = data<float>(output(context, 0, shape_of(x)));
  for (size_t i = 0; i < count_of(x); ++i) y[i] = data<float>(x)[i] + kernel.number;
}

// Squares: in ranges on the threads of the run, over scratch memory.
void square(const Kernel&, Handle context) {
  Handle x = input(context, 0);
  const size_t count = count_of(x);
  Handle info = nullptr;
  Handle allocator = nullptr;
  void* scratch = nullptr;
  void* more = nullptr;
  check(call(69, 0, 0, &info));
  check(call(277, context, info, count * sizeof(float), &scratch));
  check(call(253, context, info, &allocator));
  check(call(75, allocator, count * sizeof(float), &more));
  call<void>(94, info);
  struct Work {
    const float* from;
    float* to;
  } work{data<float>(x), static_cast<float*>(scratch)};
  void (*body)(void*, size_t) = [](void* arg, size_t i) {
    const Work& part = *static_cast<Work*>(arg);
    part.to[i] = part.from[i] * part.from[i];
  };
  check(call(274, context, body, count, size_t{4}, &work));
  std::memcpy(more, scratch, count * sizeof(float));
  std::memcpy(data<float>(output(context, 0, shape_of(x))), more, count * sizeof(float));
  check(call(76, allocator, more));
  Handle logger = nullptr;
  check(call(246, context, &logger));
  check(call(247, logger, 0, "squared", "sample_ops.cc", 1, "square"));
}

// Fail: in the way that the attribute names.
void make_failure(Kernel& kernel, Handle info) {
  kernel.text = text_of(87, info, "how");
  if (kernel.text == "making") throw std::string("this kernel cannot be made");
}
void fail_run(const Kernel& kernel, Handle context) {
  if (kernel.text == "status") throw std::string("this run failed");
  if (kernel.text == "exception") throw std::runtime_error("something was thrown");
  if (kernel.text == "thread") {
    void (*body)(void*, size_t) = [](void*, size_t i) {
      if (i == 77) throw std::runtime_error("something was thrown on a thread");
    };
    check(call(274, context, body, size_t{100}, size_t{0}, static_cast<void*>(nullptr)));
  }
  if (kernel.text == "extent") output(context, 0, {-1});
  if (kernel.text == "index") input(context, 7);
  // RunOptionsSetTerminate, which a kernel has no use for: gantry gives libraries no such function.
  if (kernel.text == "function") check(call(46, context));
  if (kernel.text != "output") *data<float>(output(context, 0, {1})) = 0;
}

const std::vector<Op>& ops() {
  static const std::vector<Op> all = [] {
    std::vector<Op> made;
    made.emplace_back("Describe", std::vector<Slot>{{kFloat}, {kFloat, kOptional}},
                      std::vector<Slot>{{kString}}, make_description, describe);
    made.emplace_back("Join", std::vector<Slot>{{kString, kVariadic}}, std::vector<Slot>{{kString}},
                      make_join, join);
    const std::vector<Slot> scaled = {{kFloat}, {kInt64, kOptional}};
    made.emplace_back("Scale", std::vector<Slot>{{kFloat}, {kFloat, kOptional}}, scaled,
                      make_nothing, scale<float>);
    made.emplace_back("Scale", std::vector<Slot>{{kInt64}, {kInt64, kOptional}},
                      std::vector<Slot>{{kInt64}, {kInt64, kOptional}}, make_nothing,
                      scale<int64_t>);
    made.emplace_back("Same", std::vector<Slot>{{kAny}}, std::vector<Slot>{{kAny}}, make_nothing,
                      repeat);
    made.emplace_back("AddFirst", std::vector<Slot>{{kFloat}, {kFloat}},
                      std::vector<Slot>{{kFloat}}, make_sum, add_first);
    made.emplace_back("Squares", std::vector<Slot>{{kFloat}}, std::vector<Slot>{{kFloat}},
                      make_nothing, square);
    made.emplace_back("Fail", std::vector<Slot>{{kFloat}}, std::vector<Slot>{{kFloat}},
                      make_failure, fail_run);
    made.emplace_back("OfVersion2", std::vector<Slot>{{kFloat}}, std::vector<Slot>{{kFloat}},
                      make_nothing, scale<float>);
    made.back().first = 2;
    return made;
  }();
  return all;
}

}  // namespace
}  // namespace sample

extern "C" __attribute__((visibility("default"))) void* RegisterCustomOps(
    void* options, const sample::ApiBase* base) {
  sample::table() = base->get_api(17);
  if (base->get_api(1000)) return sample::fail("a version was given that is not there yet");
  void* domain = nullptr;
  if (void* status = sample::call(26, "test.ops", &domain)) return status;
  for (const sample::Op& op : sample::ops()) {
    if (void* status = sample::call(27, domain, &op)) return status;
  }
  return sample::call(28, options, domain);
}
