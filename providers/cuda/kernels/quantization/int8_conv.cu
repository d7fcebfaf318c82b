// SPDX-License-Identifier: Apache-2.0
// int8 convolution as an implicit GEMM: weights [channels, taps, channels of a group] times windows
// [taps, channels of a group] x [images, positions], which are not materialised. IS_WIDE: channels
// of a group are padded to vectors of 16, else to 4; FLIP: mask that makes four elements of the
// source signed; IS_RESULT_LAST: the result is channels-last: given.

// A position of the result with its window in the source.
struct Window {
  const u8* image;  // null: out of range
  int at[3];
};

inline Window window_at(const Int8ConvParameters& p, u32 n, u32 count, i64 group) {
  Window window = {nullptr, {0, 0, 0}};
  if (n >= count) return window;
  const WindowParameters& w = p.window;
  const u32 image = quotient(n, p.positions);
  const u32 position = n - image * p.positions.divisor;
  const u32 row = quotient(position, p.out_2);
  const u32 plane = quotient(row, p.out_1);
  const int out[3] = {(int)plane, (int)(row - plane * p.out_1.divisor),
                      (int)(position - row * p.out_2.divisor)};
#pragma unroll
  for (int axis = 0; axis < 3; ++axis)
    window.at[axis] = out[axis] * (int)w.stride[axis] - (int)w.begin[axis];
  window.image = (const u8*)p.source +
                 (i64)image * w.in[0] * w.in[1] * w.in[2] * w.group * p.padded_channels +
                 group * p.padded_channels;
  return window;
}

// Address of the channels under a tap; null: in the padding.
inline const u8* under_tap(const Int8ConvParameters& p, const Window& window, u32 tap) {
  const WindowParameters& w = p.window;
  const u32 row = quotient(tap, p.kernel_2);
  const u32 plane = quotient(row, p.kernel_1);
  const int from2 = window.at[2] + (int)(tap - row * p.kernel_2.divisor) * (int)w.dilation[2];
  const int from1 = window.at[1] + (int)(row - plane * p.kernel_1.divisor) * (int)w.dilation[1];
  const int from0 = window.at[0] + (int)plane * (int)w.dilation[0];
  if (from0 < 0 || from0 >= w.in[0] || from1 < 0 || from1 >= w.in[1] || from2 < 0 ||
      from2 >= w.in[2])
    return nullptr;
  return window.image +
         (((i64)from0 * w.in[1] + from1) * w.in[2] + from2) * w.group * p.padded_channels;
}

// Four elements of padding, of which the first `channels` exist.
inline u32 padding_word(u32 zero, i64 channels) {
  return channels >= 4 ? zero : channels <= 0 ? 0 : zero & ((1u << 8 * channels) - 1);
}

KERNEL(Int8ConvParameters) {
  __shared__ Vector scratch[2 * (LEFT_WORDS + RIGHT_WORDS) / 4];
  const WindowParameters& w = p.window;
  const int made = (int)(w.result_channels / w.group);
  const u32 taps = (u32)(w.kernel[0] * w.kernel[1] * w.kernel[2]);
  const u32 depth = taps * (u32)p.padded_channels;
  const u32 count = (u32)(w.batch * p.positions.divisor);
  u32 rest = IS_SPLIT ? blockIdx.x % p.out.blocks : blockIdx.x;
  const u32 column = rest % (u32)w.tiles_n * TILE_N;
  rest /= (u32)w.tiles_n;
  const int row = (int)(rest % (u32)w.tiles_m) * TILE_M;
  const i64 group = rest / (u32)w.tiles_m;
  const u8* weights = (const u8*)p.weights + group * made * depth;
  // Spatial padding is the zero point; channel padding is 0.
  const i64 taken = w.channels / w.group;
  const u32 zero = ((u32)signed_zero<R>(p.out.right_zero, 0) & 0xff) * 0x01010101u;
  Window windows[RIGHT_VECTORS];
#pragma unroll
  for (int v = 0; v < RIGHT_VECTORS; ++v) {
    const VectorPosition position = vector_position<TILE_N>(v, true);
    windows[v] = window_at(p, position.is_there ? column + position.row : count, count, group);
  }
  Tile tile;
  multiply_tile(
      tile, scratch, share_of(p.out, depth), true, true,
      [&](int v, i64 k) {
        const VectorPosition position = vector_position<TILE_M>(v, true);
        Vector vector = {{0, 0, 0, 0}};
        const u32 at = (u32)k + position.part * 16;
        if (!position.is_there || row + position.row >= made) return vector;
        const u8* from = weights + (i64)(row + position.row) * depth + at;
#if IS_WIDE
        if (at < depth) vector = *(const Vector*)from;
#else
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (at + i * 4 < depth) vector.at[i] = ((const u32*)from)[i];
        }
#endif
        return vector;
      },
      [&](int v, i64 k) {
        Vector vector = {{0, 0, 0, 0}};
        const u32 at = (u32)k + vector_position<TILE_N>(v, true).part * 16;
        if (!windows[v].image) return vector;
#if IS_WIDE
        if (at >= depth) return vector;
        const u32 tap = quotient(at, p.padded_channels_divisor);
        const u32 channel = at - tap * p.padded_channels_divisor.divisor;
        const u8* from = under_tap(p, windows[v], tap);
        if (from) {
          vector = *(const Vector*)(from + channel);
#pragma unroll
          for (int i = 0; i < 4; ++i) vector.at[i] ^= FLIP;
          return vector;
        }
        for (int i = 0; i < 4; ++i) vector.at[i] = padding_word(zero, taken - channel - 4 * i);
#else
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (at + i * 4 >= depth) continue;
          const u8* from = under_tap(p, windows[v], at / 4 + i);
          vector.at[i] = from ? *(const u32*)from : padding_word(zero, taken);
        }
#endif
        return vector;
      });
  for_each_sum(tile, scratch, [&](int y, int x, u32 sum, u32 left_sum, u32 right_sum) {
    const u32 n = column + x;
    if (row + y >= made || n >= count) return;
    const i64 channel = group * made + row + y;
#if IS_RESULT_LAST
    const i64 at = n * w.result_channels + channel;
#else
    const u32 image = quotient(n, p.positions);
    const i64 at = ((i64)image * w.result_channels + channel) * p.positions.divisor + (n - image * p.positions.divisor);
#endif
    put_sum(p.out, at, channel, 0, sum, left_sum, right_sum);
  });
}
