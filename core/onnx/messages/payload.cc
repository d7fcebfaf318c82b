// SPDX-License-Identifier: Apache-2.0
#include "onnx/messages/payload.h"

#include <gantry/error.h>

#include <bit>
#include <charconv>
#include <cstring>
#include <string_view>

#include "base/elements.h"

namespace gantry {
namespace {

static_assert(std::endian::native == std::endian::little,
              "raw_data is little endian and used in place");

constexpr std::string_view kMark = "payload:";
constexpr uint64_t kMaxDenseBytes = uint64_t{2} << 30;

std::string label(const onnx::TensorProto& tensor) {
  return tensor.name().empty() ? "a tensor without a name" : "tensor \"" + tensor.name() + "\"";
}

[[noreturn]] void fail(const onnx::TensorProto& tensor, const std::string& what) {
  throw Error(Code::kInvalidModel, label(tensor) + " " + what);
}

DType dtype_of_tensor(const onnx::TensorProto& tensor) {
  const auto dtype = static_cast<DType>(tensor.data_type());
  if (to_string(dtype) == to_string(DType::kUndefined)) {
    fail(tensor, "has element type number " + std::to_string(tensor.data_type()) +
                     ", which is not supported");
  }
  return dtype;
}

std::vector<int64_t> shape_of(const onnx::TensorProto& tensor) {
  return {tensor.dims().begin(), tensor.dims().end()};
}

[[noreturn]] void wrong_count(const onnx::TensorProto& tensor, int64_t needed, int64_t found,
                              const char* what) {
  fail(tensor, "is " + describe(dtype_of_tensor(tensor), shape_of(tensor)) + " and needs " +
                   std::to_string(needed) + " " + what + "; found " + std::to_string(found));
}

// Copies `items` converted to T; `per_element`: number of items per element.
template <class T, class Items>
void fill(const onnx::TensorProto& tensor, const Items& items, gantry_value& value,
          int64_t per_element = 1) {
  const int64_t needed = element_count(value.shape) * per_element;
  if (items.size() != needed) wrong_count(tensor, needed, items.size(), "elements");
  auto* target = static_cast<T*>(value.view.data);
  for (const auto item : items) *target++ = static_cast<T>(item);
}

// 4- and 2-bit types in int32_data: writers put one byte or four bytes of packed elements into each
// int32.
void fill_bytes(const onnx::TensorProto& tensor, gantry_value& value) {
  const auto bytes = static_cast<int64_t>(value.view.size_bytes);
  const int64_t count = tensor.int32_data_size();
  auto* target = static_cast<uint8_t*>(value.view.data);
  if (count == bytes) {
    for (const int32_t item : tensor.int32_data()) *target++ = static_cast<uint8_t>(item);
  } else if (count == (bytes + 3) / 4) {
    for (int64_t i = 0; i < bytes; ++i) {
      const auto word = static_cast<uint32_t>(tensor.int32_data(static_cast<int>(i / 4)));
      *target++ = static_cast<uint8_t>(word >> (i % 4 * 8));
    }
  } else {
    wrong_count(tensor, bytes, count, "numbers");
  }
}

// 6-bit types in int32_data: one element in each int32.
void fill_codes(const onnx::TensorProto& tensor, gantry_value& value) {
  const int64_t needed = element_count(value.shape);
  if (tensor.int32_data_size() != needed)
    wrong_count(tensor, needed, tensor.int32_data_size(), "elements");
  if (needed == 0) return;
  std::memset(value.view.data, 0, value.view.size_bytes);
  size_t index = 0;
  for (const int32_t code : tensor.int32_data()) {
    if (code < 0 || code > 63) {
      fail(tensor, "has the number " + std::to_string(code) + " for element " +
                       std::to_string(index) + "; a code of 6 bits is from 0 to 63");
    }
    fill_packed(value.view.data, index++, 6, static_cast<uint8_t>(code));
  }
}

void fill_typed(const onnx::TensorProto& tensor, gantry_value& value) {
  switch (value.dtype) {
    case DType::kFloat:
      return fill<float>(tensor, tensor.float_data(), value);
    case DType::kComplex64:
      return fill<float>(tensor, tensor.float_data(), value, 2);
    case DType::kDouble:
      return fill<double>(tensor, tensor.double_data(), value);
    case DType::kComplex128:
      return fill<double>(tensor, tensor.double_data(), value, 2);
    case DType::kInt64:
      return fill<int64_t>(tensor, tensor.int64_data(), value);
    case DType::kUint64:
      return fill<uint64_t>(tensor, tensor.uint64_data(), value);
    case DType::kUint32:
      return fill<uint32_t>(tensor, tensor.uint64_data(), value);
    case DType::kInt32:
      return fill<int32_t>(tensor, tensor.int32_data(), value);
    case DType::kBool:
      return fill<bool>(tensor, tensor.int32_data(), value);
    default:
      break;
  }
  switch (bits_of(value.dtype)) {  // other types: bit patterns in int32_data
    case 16:
      return fill<uint16_t>(tensor, tensor.int32_data(), value);
    case 8:
      return fill<uint8_t>(tensor, tensor.int32_data(), value);
    case 6:
      return fill_codes(tensor, value);
    default:
      return fill_bytes(tensor, value);
  }
}

void fill_strings(const onnx::TensorProto& tensor, gantry_value& value) {
  if (static_cast<size_t>(tensor.string_data_size()) != value.strings.size()) {
    wrong_count(tensor, static_cast<int64_t>(value.strings.size()), tensor.string_data_size(),
                "strings");
  }
  for (int i = 0; i < tensor.string_data_size(); ++i)
    value.strings[static_cast<size_t>(i)] = tensor.string_data(i);
}

}  // namespace

std::string placeholder_text(size_t payload) {
  return std::string(kMark) + std::to_string(payload);
}

bool is_placeholder(const onnx::TensorProto& tensor) {
  return tensor.doc_string().starts_with(kMark);
}

const Payload& payload_of(const onnx::TensorProto& tensor, const std::vector<Payload>& payloads) {
  const std::string& text = tensor.doc_string();
  size_t index = payloads.size();
  if (is_placeholder(tensor)) {
    std::from_chars(text.data() + kMark.size(), text.data() + text.size(), index);
  }
  if (index >= payloads.size()) throw Error(Code::kInternal, label(tensor) + " names no payload");
  return payloads[index];
}

void check_type(const onnx::TensorProto& tensor) { dtype_of_tensor(tensor); }

uint64_t payload_bytes_needed(const onnx::TensorProto& tensor) {
  const DType dtype = dtype_of_tensor(tensor);
  if (dtype == DType::kString) fail(tensor, "holds strings, which must stand in string_data");
  try {
    return bytes_of(dtype, element_count(shape_of(tensor)));
  } catch (const Error& error) {
    fail(tensor, "has a wrong shape: " + error.message());
  }
}

void set_value(onnx::TensorProto& tensor, const ValueRef& value, std::vector<Payload>& payloads) {
  onnx::TensorProto written;
  written.set_name(tensor.name());
  written.set_data_type(tensor.data_type());
  *written.mutable_dims() = tensor.dims();
  const uint64_t size_bytes = value->view.size_bytes;
  if (value->dtype == DType::kString) {
    for (const std::string& text : value->strings) written.add_string_data(text);
  } else if (size_bytes <= most_kept_bytes(value->dtype)) {
    written.set_raw_data(value->view.data, size_bytes);
  } else {
    written.set_doc_string(placeholder_text(payloads.size()));
    payloads.push_back({static_cast<const std::byte*>(value->view.data), size_bytes, value, false});
  }
  tensor.Swap(&written);
}

ValueRef to_value(const onnx::TensorProto& tensor, const std::vector<Payload>& payloads) {
  const DType dtype = dtype_of_tensor(tensor);
  if (dtype == DType::kString && !is_placeholder(tensor) && !tensor.has_raw_data()) {
    // A string takes at least two bytes of the model, so a shape with more elements is refused
    // before it is allocated.
    if (element_count(shape_of(tensor)) != tensor.string_data_size()) {
      wrong_count(tensor, element_count(shape_of(tensor)), tensor.string_data_size(), "strings");
    }
    ValueRef value = make_tensor(dtype, shape_of(tensor));
    fill_strings(tensor, *value);
    return value;
  }
  const uint64_t needed = payload_bytes_needed(tensor);
  if (is_placeholder(tensor)) {
    const Payload& payload = payload_of(tensor, payloads);
    if (payload.size_bytes != needed) {
      wrong_count(tensor, static_cast<int64_t>(needed), static_cast<int64_t>(payload.size_bytes),
                  "bytes");
    }
    ValueRef view =
        view_tensor(dtype, shape_of(tensor), payload.data, payload.size_bytes, payload.owner);
    view->is_mapped = payload.is_mapped;
    return with_plain_bools(std::move(view));
  }
  const uint64_t stored = tensor.ByteSizeLong();
  if (!tensor.has_raw_data() && needed / 16 > stored)
    fail(tensor, "has fewer elements than its shape needs");
  if (tensor.has_raw_data() && tensor.raw_data().size() != needed) {
    wrong_count(tensor, static_cast<int64_t>(needed),
                static_cast<int64_t>(tensor.raw_data().size()), "bytes");
  }
  ValueRef value = make_tensor(dtype, shape_of(tensor));
  if (tensor.has_raw_data()) {
    if (needed != 0) std::memcpy(value->view.data, tensor.raw_data().data(), needed);
  } else {
    fill_typed(tensor, *value);
  }
  return with_plain_bools(std::move(value));
}

ValueRef to_value(const onnx::SparseTensorProto& sparse, const std::vector<Payload>& payloads) {
  const ValueRef values = to_value(sparse.values(), payloads);
  const std::vector<int64_t> shape(sparse.dims().begin(), sparse.dims().end());
  const uint32_t bits = bits_of(values->dtype);
  if (bits < 8) {
    fail(sparse.values(), "is sparse with elements of " + std::string(to_string(values->dtype)) +
                              ", which is not supported");
  }
  int64_t count = 0;
  try {
    count = element_count(shape);
    payload_bytes_needed(sparse.values());
  } catch (const Error& error) {
    fail(sparse.values(), "is sparse with a wrong shape: " + error.message());
  }
  // A few bytes of a model must not cause a huge allocation.
  if (bytes_of(values->dtype, count) > kMaxDenseBytes) {
    throw Error(Code::kUnsupported,
                label(sparse.values()) +
                    " is sparse and would take more than 2 GiB as a dense one, " +
                    describe(values->dtype, shape));
  }
  ValueRef dense = make_tensor(values->dtype, shape);
  std::memset(dense->view.data, 0, dense->view.size_bytes);
  const int64_t nonzero = element_count(values->shape);
  if (nonzero == 0) return dense;
  const ValueRef indices = to_value(sparse.indices(), payloads);
  const auto* index = static_cast<const int64_t*>(indices->view.data);
  const size_t width =
      indices->shape.size() == 2 ? shape.size() : 1;  // coordinates, or one linear index
  if (indices->dtype != DType::kInt64 ||
      element_count(indices->shape) != nonzero * static_cast<int64_t>(width)) {
    fail(sparse.values(), "is sparse and needs one int64 index for each value");
  }
  const size_t size = bits / 8;
  for (int64_t i = 0; i < nonzero; ++i) {
    int64_t linear = 0;
    for (size_t axis = 0; axis < width; ++axis, ++index) {
      const int64_t extent = width == 1 ? count : shape[axis];
      if (*index < 0 || *index >= extent)
        fail(sparse.values(), "is sparse with an index outside its shape");
      linear = linear * extent + *index;
    }
    std::memcpy(static_cast<char*>(dense->view.data) + static_cast<size_t>(linear) * size,
                static_cast<const char*>(values->view.data) + static_cast<size_t>(i) * size, size);
  }
  return dense;
}

}  // namespace gantry
