// SPDX-License-Identifier: Apache-2.0
#include "graph/image.h"

#include <gantry/error.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <type_traits>
#include <utility>

#include "base/alignment.h"
#include "base/elements.h"

namespace gantry {
namespace {

// Layout of an image: the length of the graph's description, the description, and from the next
// multiple of 64 on the elements of constants.
constexpr uint32_t kAbsent = UINT32_MAX;

enum class Place : uint8_t { kNone, kSource, kImage, kStrings };

class ImageWriter {
 public:
  explicit ImageWriter(std::span<const ImageSource> sources) : sources_(sources) {}

  std::vector<std::byte> run(const Graph& graph) {
    write(uint64_t{0});
    add(graph);
    if (!has_image_) return {};
    const uint64_t length = text_.size();
    std::memcpy(text_.data(), &length, sizeof(length));
    text_.resize(round_up(length, kTensorAlignment));
    text_.insert(text_.end(), numbers_.begin(), numbers_.end());
    return std::move(text_);
  }

 private:
  template <class T>
  void write(T number) {
    static_assert(std::is_arithmetic_v<T>);
    const auto* bytes = reinterpret_cast<const std::byte*>(&number);
    text_.insert(text_.end(), bytes, bytes + sizeof(number));
  }
  void write(const std::string& text) {
    write(static_cast<uint32_t>(text.size()));
    const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
    text_.insert(text_.end(), bytes, bytes + text.size());
  }
  template <class T>
  void write(const std::vector<T>& list) {
    write(static_cast<uint32_t>(list.size()));
    for (const T& item : list) write(item);
  }
  void write(const std::vector<GraphValue*>& values) {
    write(static_cast<uint32_t>(values.size()));
    for (const GraphValue* value : values) write(value ? value->id : kAbsent);
  }
  void write(const ValueRef& value) { add(value); }
  void write(const std::unique_ptr<Graph>& body) { add(*body); }

  void add(const ValueRef& value) {
    if (!value) return write(static_cast<uint8_t>(Place::kNone));
    if (value->kind != GANTRY_KIND_TENSOR || value->view.strides) {
      has_image_ = false;
      return;
    }
    const auto [place, source, offset] = place_of(*value);
    write(static_cast<uint8_t>(place));
    write(static_cast<int32_t>(value->dtype));
    write(value->shape);
    if (place == Place::kStrings) return write(value->strings);
    write(source);
    write(offset);
    write(value->view.size_bytes);
  }

  struct Found {
    Place place;
    uint32_t source;
    uint64_t offset;
  };

  Found place_of(const gantry_value& value) {
    if (value.dtype == DType::kString) return {Place::kStrings, 0, 0};
    const auto* begin = static_cast<const std::byte*>(value.view.data);
    const uint64_t size = value.view.size_bytes;
    for (uint32_t i = 0; i < sources_.size(); ++i) {
      const auto first = reinterpret_cast<uintptr_t>(sources_[i].bytes.data());
      const uint64_t offset = reinterpret_cast<uintptr_t>(begin) - first;
      const uint64_t there = sources_[i].bytes.size();
      if (offset < there && size <= there - offset) return {Place::kSource, i, offset};
    }
    const uint64_t offset = round_up(numbers_.size(), kTensorAlignment);
    numbers_.resize(offset);
    if (size > 0) numbers_.insert(numbers_.end(), begin, begin + size);
    return {Place::kImage, 0, offset};
  }

  void add(const Graph& graph) {
    write(graph.name);
    write(static_cast<uint32_t>(graph.values().size()));
    for (const auto& value : graph.values()) {
      write(value->name);
      write(static_cast<uint8_t>(value->type.kind));
      write(static_cast<int32_t>(value->type.dtype));
      write(static_cast<uint8_t>(value->type.has_rank));
      write(static_cast<uint8_t>(value->type.is_declared_only));
      write(value->type.shape);
      write(value->type.symbols);
      add(value->constant);
      add(value->initial);
    }
    write(graph.inputs);
    write(graph.captures);
    write(graph.outputs());
    write(static_cast<uint32_t>(graph.nodes().size()));
    for (const auto& node : graph.nodes()) add(*node);
  }

  void add(const Node& node) {
    write(node.op_type);
    write(node.domain);
    write(static_cast<int32_t>(node.since_version));
    write(node.name);
    write(node.overload);
    write(node.inputs);
    write(node.captures);
    write(node.outputs);
    write(static_cast<uint32_t>(node.attributes.size()));
    for (const Attribute& attribute : node.attributes) {
      write(attribute.name);
      write(static_cast<uint8_t>(attribute.value.index()));
      std::visit([&](const auto& value) { write(value); }, attribute.value);
    }
  }

  std::span<const ImageSource> sources_;
  std::vector<std::byte> text_;
  std::vector<std::byte> numbers_;
  bool has_image_ = true;
};

class ImageReader {
 public:
  ImageReader(std::span<const std::byte> image, const std::shared_ptr<const void>& owner,
              std::span<const ImageSource> sources)
      : text_(image), owner_(owner), sources_(sources) {
    const auto length = read<uint64_t>();
    if (length > image.size()) fail("it is cut");
    text_ = image.first(length);
    numbers_ = image.subspan(std::min<uint64_t>(round_up(length, kTensorAlignment), image.size()));
  }

  std::unique_ptr<Graph> run() {
    std::unique_ptr<Graph> graph = read_graph(0);
    if (position_ != text_.size()) fail("something stands behind its end");
    return graph;
  }

 private:
  static constexpr int kMaxDepth = 200;  // of nested bodies; models have fewer (onnx/file/wire.cc)

  [[noreturn]] static void fail(const std::string& what) {
    throw Error(Code::kInvalidArgument, "no image of a graph: " + what);
  }

  std::span<const std::byte> take(uint64_t size_bytes) {
    if (size_bytes > text_.size() - position_) fail("it is cut");
    const auto bytes = text_.subspan(position_, size_bytes);
    position_ += size_bytes;
    return bytes;
  }
  template <class T>
  T read() {
    if constexpr (std::is_arithmetic_v<T>) {
      T number;
      std::memcpy(&number, take(sizeof(number)).data(), sizeof(number));
      return number;
    } else if constexpr (std::is_same_v<T, std::string>) {
      const auto bytes = take(read<uint32_t>());
      return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    } else if constexpr (std::is_same_v<T, ValueRef>) {
      return read_constant();
    } else if constexpr (std::is_same_v<T, std::unique_ptr<Graph>>) {
      return read_graph(depth_ + 1);
    } else {
      T list(read_count());
      for (auto& item : list) item = read<typename T::value_type>();
      return list;
    }
  }
  // A count of items of at least one byte each, so that a wrong count cannot cause a large
  // allocation.
  uint32_t read_count() {
    const auto count = read<uint32_t>();
    if (count > text_.size() - position_) fail("it is cut");
    return count;
  }

  ValueRef read_constant() {
    const auto place = static_cast<Place>(read<uint8_t>());
    if (place == Place::kNone) return nullptr;
    const auto dtype = static_cast<DType>(read<int32_t>());
    auto shape = read<std::vector<int64_t>>();
    if (place == Place::kStrings) {
      auto strings = read<std::vector<std::string>>();
      if (element_count(shape) != static_cast<int64_t>(strings.size()))
        fail("a tensor of strings has another number of them than its shape");
      ValueRef value = make_tensor(DType::kString, {0});
      value->strings = std::move(strings);
      value->shape = std::move(shape);
      value->view.shape = value->shape.data();
      value->view.rank = static_cast<uint32_t>(value->shape.size());
      return value;
    }
    const auto number = read<uint32_t>();
    const auto offset = read<uint64_t>();
    const auto size = read<uint64_t>();
    if (place != Place::kSource && place != Place::kImage) fail("a constant lies nowhere");
    if (place == Place::kSource && number >= sources_.size()) fail("a source is missing");
    const auto memory = place == Place::kSource ? sources_[number].bytes : numbers_;
    const auto& owner = place == Place::kSource ? sources_[number].owner : owner_;
    if (offset > memory.size() || size > memory.size() - offset) fail("a constant is cut");
    ValueRef value = view_tensor(dtype, std::move(shape), memory.data() + offset, size, owner);
    value->is_mapped = owner != nullptr;
    return with_plain_bools(std::move(value));
  }

  GraphValue* read_value(const Graph& graph) {
    const auto id = read<uint32_t>();
    if (id == kAbsent) return nullptr;
    if (id >= graph.values().size()) fail("a value is missing");
    return graph.values()[id].get();
  }
  GraphValue* need_value(const Graph& graph) {
    GraphValue* value = read_value(graph);
    if (!value) fail("a value is missing");
    return value;
  }

  std::unique_ptr<Graph> read_graph(int depth) {
    if (depth > kMaxDepth) fail("its bodies are too deep");
    const int outer = std::exchange(depth_, depth);
    auto graph = std::make_unique<Graph>();
    graph->name = read<std::string>();
    for (uint32_t left = read_count(); left > 0; --left) read_value_of(*graph);
    for (uint32_t left = read_count(); left > 0; --left)
      graph->inputs.push_back(need_value(*graph));
    for (uint32_t left = read_count(); left > 0; --left)
      graph->captures.push_back(read_value(*graph));
    std::vector<GraphValue*> outputs;
    for (uint32_t left = read_count(); left > 0; --left) outputs.push_back(need_value(*graph));
    graph->set_outputs(std::move(outputs));
    for (uint32_t left = read_count(); left > 0; --left) read_node(*graph);
    depth_ = outer;
    return graph;
  }

  void read_value_of(Graph& graph) {
    auto name = read<std::string>();
    TypeInfo type;
    type.kind = static_cast<Kind>(read<uint8_t>());
    type.dtype = static_cast<DType>(read<int32_t>());
    type.has_rank = read<uint8_t>() != 0;
    type.is_declared_only = read<uint8_t>() != 0;
    type.shape = read<std::vector<int64_t>>();
    type.symbols = read<std::vector<std::string>>();
    GraphValue* value = graph.add_value(std::move(name), std::move(type));
    value->constant = read_constant();
    value->initial = read_constant();
  }

  void read_node(Graph& graph) {
    auto op_type = read<std::string>();
    auto domain = read<std::string>();
    const auto since_version = read<int32_t>();
    Node* node =
        graph.add_node(std::move(op_type), std::move(domain), since_version, read<std::string>());
    node->overload = read<std::string>();
    for (uint32_t left = read_count(); left > 0; --left) graph.add_input(node, read_value(graph));
    for (uint32_t left = read_count(); left > 0; --left) graph.add_capture(node, need_value(graph));
    for (uint32_t left = read_count(); left > 0; --left) graph.add_output(node, read_value(graph));
    for (uint32_t left = read_count(); left > 0; --left) {
      auto name = read<std::string>();
      const auto index = read<uint8_t>();
      node->attributes.push_back({std::move(name), read_attribute<0>(index)});
    }
  }

  template <size_t Index>
  AttributeValue read_attribute(size_t index) {
    if constexpr (Index == std::variant_size_v<AttributeValue>) {
      fail("an attribute has no type");
    } else {
      if (index != Index) return read_attribute<Index + 1>(index);
      return read<std::variant_alternative_t<Index, AttributeValue>>();
    }
  }

  std::span<const std::byte> text_;
  std::span<const std::byte> numbers_;
  const std::shared_ptr<const void>& owner_;
  std::span<const ImageSource> sources_;
  uint64_t position_ = 0;
  int depth_ = 0;
};

}  // namespace

std::vector<std::byte> to_image(const Graph& graph, std::span<const ImageSource> sources) {
  return ImageWriter(sources).run(graph);
}

std::unique_ptr<Graph> from_image(std::span<const std::byte> image,
                                  const std::shared_ptr<const void>& owner,
                                  std::span<const ImageSource> sources) {
  return ImageReader(image, owner, sources).run();
}

}  // namespace gantry
