// A layered drawing of a directed graph without cycles, in time about linear in its size: layers by
// longest path, order within layers by barycenters, places by isotonic regression. Pure functions.

// Isotonic regression with gaps: places as near to `wanted` as their order and widths allow.
function settle(wanted, weights, offsets) {
  const count = wanted.length;
  const mean = new Float64Array(count);
  const weight = new Float64Array(count);
  const size = new Int32Array(count);
  let blocks = 0;
  for (let i = 0; i < count; i++) {
    mean[blocks] = wanted[i] - offsets[i];
    weight[blocks] = weights[i];
    size[blocks] = 1;
    while (blocks > 0 && mean[blocks - 1] > mean[blocks]) {
      const total = weight[blocks - 1] + weight[blocks];
      mean[blocks - 1] = (mean[blocks - 1] * weight[blocks - 1] + mean[blocks] * weight[blocks]) / total;
      weight[blocks - 1] = total;
      size[blocks - 1] += size[blocks];
      blocks--;
    }
    blocks++;
  }
  const places = new Float64Array(count);
  for (let block = 0, i = 0; block < blocks; block++) {
    for (let k = 0; k < size[block]; k++, i++) places[i] = mean[block] + offsets[i];
  }
  return places;
}

// Nodes in an order in which each stands after those it reads from.
function topologicalOrder(count, next, missing) {
  const left = Int32Array.from(missing);
  const order = [];
  for (let i = 0; i < count; i++) if (left[i] === 0) order.push(i);
  for (let at = 0; at < order.length; at++) {
    for (const to of next[order[at]]) if (--left[to] === 0) order.push(to);
  }
  return order;
}

// The longest way to each node.
function depths(order, next) {
  const depth = new Int32Array(next.length);
  for (const node of order) {
    for (const to of next[node]) depth[to] = Math.max(depth[to], depth[node] + 1);
  }
  return depth;
}

// A layer for each node: below all that it reads from; what feeds others more than it is fed moves
// down to them.
function assignLayers(order, next, previous, depth) {
  const layer = Int32Array.from(depth);
  for (let at = order.length - 1; at >= 0; at--) {
    const node = order[at];
    if (!next[node].length || next[node].length < previous[node].length) continue;
    let lowest = Infinity;
    for (const to of next[node]) lowest = Math.min(lowest, layer[to]);
    layer[node] = lowest - 1;
  }
  return layer;
}

// Edges that cross layers get a place in each: one chain for all edges of a node, so that their
// number stays small. Edges for which there is no budget stay long.
function addChains(items, next, layer) {
  const chains = items.map(() => []);
  const long = new Set();
  const sources = [];
  for (let node = 0; node < items.length; node++) {
    let last = layer[node];
    for (const to of next[node]) last = Math.max(last, layer[to]);
    if (last > layer[node] + 1) sources.push([last - layer[node] - 1, node]);
  }
  sources.sort((a, b) => a[0] - b[0]);
  let budget = 8 * items.length + 2000;
  const places = [];
  for (const [length, node] of sources) {
    if (budget < length) {
      long.add(node);
      continue;
    }
    budget -= length;
    for (let i = 1; i <= length; i++) {
      chains[node].push(items.length + places.length);
      places.push({source: node, layer: layer[node] + i});
    }
  }
  return {chains, long, places};
}

// For each node the one above it on the main line, or -1: of those in the layer above it the one with
// the longest way behind it, if of all that that one feeds this node has the longest way ahead.
function mainLine(layer, next, previous, depth, ahead) {
  const best = (list, node, step, measure) => {
    let found = -1;
    for (const other of list) {
      if (layer[other] === layer[node] + step && (found < 0 || measure[other] > measure[found])) found = other;
    }
    return found;
  };
  return layer.map((_, node) => {
    const above = best(previous[node], node, -1, depth);
    return above >= 0 && best(next[above], above, 1, ahead) === node ? above : -1;
  });
}

// For each node the number of nodes on its line.
function lineLengths(order, line) {
  const first = new Int32Array(line.length);
  const count = new Int32Array(line.length);
  for (const node of order) {
    first[node] = line[node] < 0 ? node : first[line[node]];
    count[first[node]]++;
  }
  return first.map((node) => count[node]);
}

class LayeredGraph {
  // `items`: {w, h}; `edges`: [from, to] by index.
  constructor(items, edges, gaps) {
    this.items = items;
    this.gaps = gaps;
    const count = items.length;
    this.next = items.map(() => []);
    const previous = items.map(() => []);
    const seen = new Set();
    for (const [from, to] of edges) {
      const key = from * count + to;
      if (from === to || seen.has(key)) continue;
      seen.add(key);
      this.next[from].push(to);
      previous[to].push(from);
    }
    const order = topologicalOrder(count, this.next, previous.map((list) => list.length));
    const depth = depths(order, this.next);
    this.layer = assignLayers(order, this.next, previous, depth);
    this.line = mainLine(this.layer, this.next, previous, depth, depths([...order].reverse(), previous));
    this.lineLength = lineLengths(order, this.line);
    Object.assign(this, addChains(items, this.next, this.layer));
    this.buildLayers(order);
    this.buildNeighbours();
    this.orderLayers();
    this.placeAcross();
    this.placeDown();
  }

  buildLayers(order) {
    let depth = 0;
    for (const node of order) depth = Math.max(depth, this.layer[node] + 1);
    this.layers = Array.from({length: depth}, () => []);
    for (const node of order) this.layers[this.layer[node]].push(node);
    this.places.forEach((place, i) => this.layers[place.layer].push(this.items.length + i));
    const total = this.items.length + this.places.length;
    this.width = new Float64Array(total).fill(10);
    this.items.forEach((item, i) => (this.width[i] = item.w));
  }

  isPlace(vertex) {
    return vertex >= this.items.length;
  }

  buildNeighbours() {
    const total = this.items.length + this.places.length;
    this.above = Array.from({length: total}, () => []);
    this.below = Array.from({length: total}, () => []);
    const join = (from, to) => {
      this.below[from].push(to);
      this.above[to].push(from);
    };
    for (let node = 0; node < this.items.length; node++) {
      const chain = this.chains[node];
      chain.forEach((place, i) => join(i ? chain[i - 1] : node, place));
      for (const to of this.next[node]) {
        const span = this.layer[to] - this.layer[node];
        if (span === 1) join(node, to);
        else if (!this.long.has(node)) join(chain[span - 2], to);
      }
    }
  }

  orderLayers() {
    const rank = new Float64Array(this.width.length);
    const number = () => this.layers.forEach((layer) => layer.forEach((vertex, i) => (rank[vertex] = i)));
    number();
    const sweep = (layers, neighbours) => {
      for (const layer of layers) {
        const wanted = new Map();
        layer.forEach((vertex, i) => {
          const list = neighbours[vertex];
          let sum = 0;
          for (const other of list) sum += rank[other];
          wanted.set(vertex, list.length ? sum / list.length : i);
        });
        layer.sort((a, b) => wanted.get(a) - wanted.get(b) || rank[a] - rank[b]);
        layer.forEach((vertex, i) => (rank[vertex] = i));
      }
    };
    const upward = [...this.layers].reverse();
    let best = null;
    for (let round = 0; round < 6; round++) {
      if (round % 2 === 0) sweep(this.layers.slice(1), this.above);
      else sweep(upward.slice(1), this.below);
      const crossings = this.countCrossings(rank);
      if (!best || crossings < best.crossings) best = {crossings, layers: this.layers.map((layer) => [...layer])};
      if (crossings === 0) break;
    }
    if (best) this.layers = best.layers;
  }

  countCrossings(rank) {
    let crossings = 0;
    for (let i = 1; i < this.layers.length; i++) {
      const size = this.layers[i - 1].length + 1;
      const tree = new Int32Array(size + 1);
      let total = 0;
      for (const vertex of this.layers[i]) {
        const ends = this.above[vertex];
        for (const end of ends) {
          let before = 0;
          for (let at = rank[end] + 1; at > 0; at -= at & -at) before += tree[at];
          crossings += total - before;
        }
        for (const end of ends) {
          total++;
          for (let at = rank[end] + 1; at <= size; at += at & -at) tree[at]++;
        }
      }
    }
    return crossings;
  }

  // How much two neighbours want to stand below each other: the longer their line, the more.
  pull(a, b) {
    if (this.isPlace(a) || this.isPlace(b)) return this.isPlace(a) && this.isPlace(b) ? 8 : 1;
    return this.line[a] === b || this.line[b] === a ? 2 + this.lineLength[a] ** 3 : 2;
  }

  placeAcross() {
    this.x = new Float64Array(this.width.length);
    const offsets = this.layers.map((layer) => {
      const list = new Float64Array(layer.length);
      for (let i = 1; i < layer.length; i++) {
        list[i] = list[i - 1] + (this.width[layer[i - 1]] + this.width[layer[i]]) / 2 + this.gaps.across;
      }
      const middle = layer.length ? list[layer.length - 1] / 2 : 0;
      layer.forEach((vertex, i) => (this.x[vertex] = list[i] - middle));
      return list;
    });
    const sweep = (first, step, sides) => {
      for (let at = first; at >= 0 && at < this.layers.length; at += step) {
        const layer = this.layers[at];
        const wanted = new Float64Array(layer.length);
        const weights = new Float64Array(layer.length);
        layer.forEach((vertex, i) => {
          let sum = 0;
          let weight = 0;
          for (const side of sides) {
            for (const other of side[vertex]) {
              const pull = this.pull(vertex, other);
              sum += pull * this.x[other];
              weight += pull;
            }
          }
          wanted[i] = weight ? sum / weight : this.x[vertex];
          weights[i] = weight || 0.05;
        });
        const places = settle(wanted, weights, offsets[at]);
        layer.forEach((vertex, i) => (this.x[vertex] = places[i]));
      }
    };
    for (let round = 0; round < 5; round++) {
      sweep(1, 1, [this.above]);
      sweep(this.layers.length - 2, -1, [this.below]);
    }
    sweep(0, 1, [this.above, this.below]);
    sweep(this.layers.length - 1, -1, [this.above, this.below]);
    this.straighten();
    let left = Infinity;
    let right = -Infinity;
    for (let i = 0; i < this.x.length; i++) {
      left = Math.min(left, this.x[i] - this.width[i] / 2);
      right = Math.max(right, this.x[i] + this.width[i] / 2);
    }
    for (let i = 0; i < this.x.length; i++) this.x[i] -= left;
    this.totalWidth = this.x.length ? right - left : 0;
  }

  // Ways across layers become straight as far as there is room beside them.
  straighten() {
    const index = new Int32Array(this.x.length);
    this.layers.forEach((layer) => layer.forEach((vertex, i) => (index[vertex] = i)));
    const room = (vertex) => {
      const layer = this.layers[this.places[vertex - this.items.length].layer];
      const [left, right] = [layer[index[vertex] - 1], layer[index[vertex] + 1]];
      const gap = (other) => (this.width[vertex] + this.width[other]) / 2 + this.gaps.across / 2;
      return [left === undefined ? -Infinity : this.x[left] + gap(left), right === undefined ? Infinity : this.x[right] - gap(right)];
    };
    for (const chain of this.chains) {
      for (let first = 0; first < chain.length; ) {
        let [low, high] = room(chain[first]);
        let [sum, end] = [this.x[chain[first]], first + 1];
        for (; end < chain.length; end++) {
          const [left, right] = room(chain[end]);
          if (Math.max(low, left) > Math.min(high, right)) break;
          [low, high] = [Math.max(low, left), Math.min(high, right)];
          sum += this.x[chain[end]];
        }
        const x = Math.min(Math.max(sum / (end - first), low), high);
        for (; first < end; first++) this.x[chain[first]] = x;
      }
    }
  }

  placeDown() {
    this.top = [];
    this.bottom = [];
    let y = 0;
    for (const layer of this.layers) {
      let height = 0;
      for (const vertex of layer) if (!this.isPlace(vertex)) height = Math.max(height, this.items[vertex].h);
      this.top.push(y);
      this.bottom.push(y + height);
      y += height + this.gaps.down;
    }
    this.totalHeight = Math.max(0, y - this.gaps.down);
  }

  // Centre of a node, and its top.
  position(node) {
    return {x: this.x[node], y: this.top[this.layer[node]]};
  }

  // The way of an edge as points: from the bottom of a node to the top of another.
  route(from, to) {
    const start = this.layer[from];
    const end = this.layer[to];
    const points = [
      [this.x[from], this.top[start] + this.items[from].h],
      [this.x[from], this.bottom[start]],
    ];
    if (!this.long.has(from)) {
      for (let i = 0; i < end - start - 1; i++) {
        const x = this.x[this.chains[from][i]];
        points.push([x, this.top[start + 1 + i]], [x, this.bottom[start + 1 + i]]);
      }
    }
    points.push([this.x[to], this.top[end]]);
    return points;
  }
}
