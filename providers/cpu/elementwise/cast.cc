// SPDX-License-Identifier: Apache-2.0
// Cast and CastLike between all element types but the complex ones. Common types convert directly.
// Float8 and packed types convert through a block of f32 or int64 on the stack, strings element by
// element.
#include <algorithm>
#include <array>
#include <cstring>

#include "attributes.h"
#include "elementwise/cast_text.h"
#include "elementwise/elementwise.h"
#include "families.h"
#include "float6.h"
#include "integer_math.h"
#include "simd/integer_vectors.h"
#include "values.h"

namespace gantry::cpu {
namespace {

using CommonTypes = Concat<NumberTypes, TypeList<Boolean>>;
using RareTypes = Concat<Float8Types, PackedTypes, Float6Types>;

/// The node's attributes on conversions to 8-bit floats.
struct CastRules {
  bool saturate = true;
  Float8E8M0::Round round = Float8E8M0::Round::kUp;
};

template <class T>
inline constexpr bool kIsPackedType = requires {
  T::kBits;
};
template <class T>
inline constexpr bool kIsPackedFloat =
    std::is_same_v<T, Float4E2M1> || std::is_same_v<T, Float6E2M3> || std::is_same_v<T, Float6E3M2>;
/// Integers, packed ones too; their conversions between each other keep the low bits.
template <class T>
inline constexpr bool kIsIntegerLike = std::is_integral_v<T> || std::is_same_v<T, Boolean> ||
                                       (kIsPackedType<T> && !kIsPackedFloat<T>);

/// Rounds to f32 by round-to-odd, so that rounding again to a narrower float gives the correctly
/// rounded result.
float round_to_odd(double x) {
  const auto nearest = static_cast<float>(x);
  if (static_cast<double>(nearest) == x || x != x || std::isinf(nearest)) return nearest;
  const auto bits = std::bit_cast<uint32_t>(nearest);
  if (bits & 1) return nearest;
  const bool is_away = std::fabs(static_cast<double>(nearest)) > std::fabs(x);
  return std::bit_cast<float>(is_away ? bits - 1 : bits + 1);
}

/// Converts between two common types.
template <class To, class From>
To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<To, Boolean>) {
    return Boolean(static_cast<Compute<From>>(x) != Compute<From>{0});
  } else if constexpr (std::is_same_v<From, Boolean>) {
    return static_cast<To>(static_cast<Compute<To>>(x.byte != 0));
  } else if constexpr (kIsHalf<To>) {
    if constexpr (std::is_same_v<From, double>) {
      return To(round_to_odd(x));
    } else {
      return To(static_cast<float>(x));
    }
  } else if constexpr (std::is_integral_v<To> && kIsFloat<From>) {
    return to_integer<To>(static_cast<Compute<From>>(x));
  } else {
    return static_cast<To>(static_cast<Compute<From>>(x));
  }
}

template <class To>
To from_float(float x, CastRules rules) {
  if constexpr (std::is_same_v<To, Float8E8M0>) {
    return To::from_float(x, rules.round, rules.saturate);
  } else if constexpr (std::is_same_v<To, Float4E2M1>) {
    return To::from_float(x);
  } else if constexpr (SaturatingFloat<To>) {
    return To::from_float(x, rules.saturate);
  } else if constexpr (kIsPackedType<To>) {
    return {static_cast<uint8_t>(to_integer<int32_t>(x) & ((1 << To::kBits) - 1))};
  } else {
    return convert<To>(x);
  }
}
template <class To>
To from_integer(int64_t x) {
  if constexpr (kIsPackedType<To>) {
    return {static_cast<uint8_t>(x & ((1 << To::kBits) - 1))};
  } else {
    return convert<To>(x);
  }
}

/// Conversions with a rare type on one side work in blocks of this many elements.
constexpr int64_t kCastBlock = 256;
/// Convert elements [begin, begin + n) of `data` to or from a block.
template <class Carrier>
using Load = void (*)(const void* data, int64_t begin, int64_t n, Carrier* block);
template <class Carrier>
using CastStore = void (*)(const Carrier* block, void* data, int64_t begin, int64_t n,
                           CastRules rules);

template <class From, class Carrier>
void load(const void* data, int64_t begin, int64_t n, Carrier* block) {
  for (int64_t i = 0; i < n; ++i) {
    if constexpr (kIsPackedType<From>) {
      const From element{load_code(data, begin + i, From::kBits)};
      if constexpr (std::is_same_v<Carrier, float>) {
        block[i] = static_cast<float>(element);
      } else {
        block[i] = static_cast<int>(element);
      }
    } else {
      const From element = static_cast<const From*>(data)[begin + i];
      if constexpr (std::is_same_v<From, Boolean>) {
        block[i] = element.byte != 0;
      } else if constexpr (std::is_same_v<Carrier, int64_t>) {
        block[i] = static_cast<int64_t>(element);
      } else if constexpr (std::is_same_v<From, double> ||
                           (std::is_integral_v<From> && sizeof(From) >= 4)) {
        block[i] = round_to_odd(static_cast<double>(element));
      } else {
        block[i] = static_cast<float>(static_cast<Compute<From>>(element));
      }
    }
  }
}

template <class To, class Carrier>
void store(const Carrier* block, void* data, int64_t begin, int64_t n, CastRules rules) {
  const auto element = [&](int64_t i) {
    if constexpr (std::is_same_v<Carrier, int64_t>) {
      return from_integer<To>(block[i]);
    } else {
      return from_float<To>(block[i], rules);
    }
  };
  if constexpr (kIsPackedType<To>) {
    store_codes(data, To::kBits, begin, begin + n,
                [&](int64_t i) { return element(i - begin).bits; });
  } else {
    for (int64_t i = 0; i < n; ++i) static_cast<To*>(data)[begin + i] = element(i);
  }
}

using AllTypes = Concat<CommonTypes, RareTypes>;

template <class Carrier>
void convert_by_blocks(sdk::Call& call, const gantry_tensor& x, const gantry_tensor& y,
                       int64_t count, CastRules rules) {
  Load<Carrier> load_block = nullptr;
  CastStore<Carrier> store_block = nullptr;
  dispatch<AllTypes>(x.dtype, [&](auto type) {
    using From = typename decltype(type)::type;
    if constexpr (std::is_same_v<Carrier, float> || kIsIntegerLike<From>)
      load_block = &load<From, Carrier>;
  });
  dispatch<AllTypes>(y.dtype, [&](auto type) {
    using To = typename decltype(type)::type;
    if constexpr (std::is_same_v<Carrier, float> || kIsIntegerLike<To>)
      store_block = &store<To, Carrier>;
  });
  // Threads work on whole blocks, so that no two write the same byte of packed elements.
  const int64_t blocks = (count + kCastBlock - 1) / kCastBlock;
  call.parallel_for(blocks, 16, [&](int64_t first, int64_t last) {
    Carrier block[kCastBlock];
    for (int64_t begin = first * kCastBlock; begin < std::min(last * kCastBlock, count);
         begin += kCastBlock) {
      const int64_t n = std::min(kCastBlock, count - begin);
      load_block(x.data, begin, n, block);
      store_block(block, y.data, begin, n, rules);
    }
  });
}

bool is_integer_like(uint32_t dtype) {
  bool result = false;
  dispatch<AllTypes>(dtype,
                     [&](auto type) { result = kIsIntegerLike<typename decltype(type)::type>; });
  return result;
}

template <class T>
inline constexpr bool kIsByte = std::is_same_v<T, uint8_t> || std::is_same_v<T, int8_t>;

bool is_common(uint32_t dtype) { return sdk::dtype_bit(dtype) & dtype_set(CommonTypes{}); }

template <class From, class To>
void convert_plain(const From* source, To* target, int64_t count) {
  if constexpr (std::is_same_v<From, Float16> && std::is_same_v<To, float>) {
    widen<From>(source, target, count);
  } else if constexpr (std::is_same_v<From, float> && std::is_same_v<To, Float16>) {
    narrow<To>(source, target, count);
  } else if constexpr (std::is_same_v<From, float> && kIsByte<To>) {
    simd::to_bytes(source, reinterpret_cast<uint8_t*>(target), count);
  } else if constexpr (std::is_same_v<From, float> && std::is_same_v<To, int64_t>) {
    simd::to_int64(source, target, count);
  } else {
#pragma GCC ivdep
    for (int64_t i = 0; i < count; ++i) target[i] = convert<To>(source[i]);
  }
}

void convert_common(sdk::Call& call, const gantry_tensor& x, const gantry_tensor& y,
                    int64_t count) {
  dispatch<CommonTypes>(x.dtype, [&](auto from) {
    using From = typename decltype(from)::type;
    dispatch<CommonTypes>(y.dtype, [&](auto to) {
      using To = typename decltype(to)::type;
      const auto* source = static_cast<const From*>(x.data);
      auto* target = static_cast<To*>(y.data);
      call.parallel_for(count, kPlainGrain, [&](int64_t begin, int64_t end) {
        convert_plain(source + begin, target + begin, end - begin);
      });
    });
  });
}

/// The conversion of a tensor to the element type `to`, shared by both operators.
class CastKernel : public NodeKernel {
 protected:
  explicit CastKernel(const sdk::NodeView& node) : NodeKernel(node) {
    rules_.saturate = node.get_int("saturate", 1) != 0;
    rules_.round =
        read_choice<Float8E8M0::Round>(node, "round_mode", "up", {"up", "down", "nearest"});
  }

  void cast(sdk::Call& call, uint32_t to) const {
    const gantry_tensor& x = call.input(0);
    const sdk::Shape shape(x);
    const int64_t count = shape.element_count();
    if (to == GANTRY_STRING) return to_texts(call, x, shape);
    if (bits_of(to) == 0) fail_dtype(to);
    const gantry_tensor& y = call.output(0, to, shape);
    if (count == 0) return;
    if (x.dtype == GANTRY_STRING) return from_texts(call, y, count);
    if (x.dtype == to) {
      if (y.data != x.data) std::memcpy(y.data, x.data, x.size_bytes);
    } else if (is_common(x.dtype) && is_common(to)) {
      convert_common(call, x, y, count);
    } else if (is_integer_like(x.dtype) && is_integer_like(to)) {
      convert_by_blocks<int64_t>(call, x, y, count, rules_);
    } else {
      convert_by_blocks<float>(call, x, y, count, rules_);
    }
  }

 private:
  static void to_texts(sdk::Call& call, const gantry_tensor& x, sdk::Shape shape) {
    if (x.dtype == GANTRY_STRING) return call.output_value(0, call.value(0));
    const OwnedValue texts = create_string_tensor(call.host(), shape);
    const int64_t count = shape.element_count();
    dispatch<AllTypes>(x.dtype, [&](auto type) {
      using From = typename decltype(type)::type;
      std::array<char, kNumberText> buffer;
      for (int64_t i = 0; i < count; ++i) {
        std::string_view text;
        if constexpr (kIsPackedType<From>) {
          const From element{load_code(x.data, i, From::kBits)};
          if constexpr (kIsIntegerLike<From>) {
            text = write_number(static_cast<int64_t>(static_cast<int>(element)), buffer);
          } else {
            text = write_number(static_cast<float>(element), buffer);
          }
        } else {
          text =
              write_number(static_cast<Compute<From>>(static_cast<const From*>(x.data)[i]), buffer);
        }
        set_string(call.host(), texts.get(), i, sdk::to_str(text));
      }
    });
    call.output_value(0, texts.get());
  }

  void from_texts(sdk::Call& call, const gantry_tensor& y, int64_t count) const {
    dispatch<AllTypes>(y.dtype, [&](auto type) {
      using To = typename decltype(type)::type;
      const auto element = [&](int64_t i) {
        const std::string_view text = sdk::to_view(string_at(call.host(), call.value(0), i));
        const std::optional<Number> number = read_number(text);
        if (!number) fail("the text \"" + std::string(text.substr(0, 40)) + "\" is no number");
        return from_number<To>(*number);
      };
      if constexpr (kIsPackedType<To>) {
        store_codes(y.data, To::kBits, 0, count, [&](int64_t i) { return element(i).bits; });
      } else {
        for (int64_t i = 0; i < count; ++i) static_cast<To*>(y.data)[i] = element(i);
      }
    });
  }

  template <class To>
  To from_number(const Number& number) const {
    if constexpr (std::is_same_v<To, double>) {
      return number.real;
    } else if constexpr (std::is_same_v<To, float>) {
      return static_cast<float>(number.real);
    } else if constexpr (std::is_same_v<To, Boolean>) {
      return Boolean(number.real != 0);
    } else if constexpr (kIsIntegerLike<To>) {
      if (number.is_integer) return from_integer<To>(number.integer);
      if constexpr (kIsPackedType<To>) {
        return from_integer<To>(to_integer<int64_t>(number.real));
      } else {
        return to_integer<To>(number.real);
      }
    } else {
      return from_float<To>(round_to_odd(number.real), rules_);
    }
  }

  CastRules rules_;
};

/// Attribute `to` is a string in version 1, an integer in later versions.
uint32_t type_from_name(const sdk::NodeView& node) {
  const int index = read_choice(node, "to", "",
                                {"FLOAT", "UINT8", "INT8", "UINT16", "INT16", "INT32", "INT64",
                                 "STRING", "BOOL", "FLOAT16", "DOUBLE", "UINT32", "UINT64"});
  return static_cast<uint32_t>(index) + GANTRY_FLOAT;
}

template <bool kIsVersion1>
class Cast final : public CastKernel {
 public:
  explicit Cast(const sdk::NodeView& node)
      : CastKernel(node),
        to_(kIsVersion1 ? type_from_name(node) : static_cast<uint32_t>(node.get_int("to", 0))) {}
  void run(sdk::Call& call) const override { cast(call, to_); }

 private:
  uint32_t to_;
};

/// The type is that of the second input.
class CastLike final : public CastKernel {
 public:
  explicit CastLike(const sdk::NodeView& node) : CastKernel(node) {}
  void run(sdk::Call& call) const override { cast(call, call.input(1).dtype); }
};

constexpr sdk::DTypeSet kCastTypes = dtype_set(AllTypes{}) | sdk::kString;

constexpr sdk::KernelRow kCastRows[] = {
    {"Cast", 1, 5, kCastTypes, sdk::make<Cast<true>>, kOverFirst},
    {"Cast", 6, sdk::kLatest, kCastTypes, sdk::make<Cast<false>>, kOverFirst},
    {"CastLike", 15, sdk::kLatest, kCastTypes, sdk::make<CastLike>, kOverFirst},
};

}  // namespace

sdk::KernelTable cast_kernels() { return sdk::table(kCastRows); }

}  // namespace gantry::cpu
