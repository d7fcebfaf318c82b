// From facts to a scene: boxes with places and the lines between them. Bodies of control flow are
// drawn inside the node that runs them. Pure functions.

const GAPS = {across: 26, down: 34};
const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';
const FONTS = {title: `600 13px ${FONT}`, text: `11px ${FONT}`};

const measuring = {context: null, known: {title: new Map(), text: new Map()}};
function widthOf(text, font) {
  const {known} = measuring;
  if (!known[font].has(text)) {
    if (!measuring.context) measuring.context = document.createElement('canvas').getContext('2d');
    measuring.context.font = FONTS[font];
    known[font].set(text, Math.ceil(measuring.context.measureText(text).width));
  }
  return known[font].get(text);
}

function shortened(text, most) {
  return text.length <= most ? text : text.slice(0, most - 1) + '\u2026';
}

// "float32[1,64,56,56]" as "1×64×56×56"; long names of open extents as "?".
function shapeText(type) {
  const found = /\[(.*)\]$/.exec(type || '');
  return found ? found[1].split(',').map((extent) => (extent.length > 8 ? '?' : extent)).join('\u00d7') || 'scalar' : '';
}

function lastPart(name) {
  return name.slice(name.lastIndexOf('/') + 1);
}

class SceneBuilder {
  // `blocks`: those that are drawn as one box.
  constructor(facts, blocks) {
    this.facts = facts;
    this.blockOf = new Map(blocks.flatMap((block) => block.members.map((index) => [index, block])));
    this.values = new Map(facts.values.map((value) => [value.name, value]));
    this.copies = new Map(facts.transfers.map((copy) => [copy.value + '\n' + copy.to, copy]));
    this.graphs = new Map();
    facts.nodes.forEach((node, index) => this.graphOf(node).nodes.push(index));
    facts.values.forEach((value) => {
      if (value.input || value.output) this.graphOf(value).ends.push(value);
    });
  }

  graphOf(row) {
    const key = row.parent + '|' + row.body;
    if (!this.graphs.has(key)) this.graphs.set(key, {key, parent: row.parent, body: row.body, nodes: [], ends: []});
    return this.graphs.get(key);
  }

  // `inColumns`: a tall scene is folded.
  build(inColumns) {
    const main = this.graphs.get('-1|');
    const scene = main ? this.layout(main, 0) : {boxes: [], lines: [], edges: [], width: 0, height: 0};
    scene.fold = null;
    if (inColumns && main) {
      scene.fold = new Fold(scene);
      scene.boxes.forEach((box) => scene.fold.place(box));
      scene.lines = scene.lines.flatMap((line) => scene.fold.pieces(line));
      Object.assign(scene, {width: scene.fold.width, height: scene.fold.height});
    }
    scene.boxes.sort((a, b) => a.y - b.y);
    scene.boxOfNode = [];
    scene.boxes.forEach((box) => membersOf(box).forEach((index) => (scene.boxOfNode[index] = box)));
    // Bodies of a node in a block are not drawn.
    this.facts.nodes.forEach((node, index) => {
      for (let at = index; !scene.boxOfNode[index] && at >= 0; at = this.facts.nodes[at].parent)
        if (scene.boxOfNode[at]) scene.boxOfNode[index] = scene.boxOfNode[at];
    });
    scene.lines.sort((a, b) => a.y1 - b.y1);
    return scene;
  }

  // Boxes, lines and edges of a graph, its upper left corner at 0, 0.
  layout(graph, depth) {
    const boxes = [
      ...graph.ends.filter((value) => value.input).map((value) => this.endBox(value, 'input', depth)),
      ...graph.nodes.map((index) => this.boxFor(index, depth)).filter((box) => box),
      ...graph.ends.filter((value) => value.output).map((value) => this.endBox(value, 'output', depth)),
    ];
    const edges = this.edgesOf(boxes);
    const layered = new LayeredGraph(boxes, edges.map((edge) => [edge.from, edge.to]), GAPS);
    boxes.forEach((box, i) => {
      const at = layered.position(i);
      box.x = at.x - box.w / 2;
      box.y = at.y;
    });
    const scene = {boxes: [], lines: linesOf(layered, boxes, edges), edges: [], width: layered.totalWidth, height: layered.totalHeight,
                   layers: {top: layered.top, bottom: layered.bottom}};
    edges.forEach((edge) => {
      scene.edges.push({...edge, from: boxes[edge.from], to: boxes[edge.to], points: () => layered.route(edge.from, edge.to), dx: 0, dy: 0});
    });
    boxes.forEach((box) => {
      scene.boxes.push(box);
      let x = box.x + 12;
      for (const body of box.bodies || []) {
        moveInto(scene, body.scene, x, box.y + 66);
        body.x = x;
        body.y = box.y + 46;
        x += body.width + 16;
      }
      delete box.inner;
    });
    return scene;
  }

  endBox(value, kind, depth) {
    const title = shortened(lastPart(value.name), 28);
    const text = shortened(value.type, 34);
    return {kind, value, depth, title, text, w: Math.max(70, widthOf(title, 'title') + 30, widthOf(text, 'text') + 30), h: 36};
  }

  // Of a block its first node has the box.
  boxFor(index, depth) {
    const block = this.blockOf.get(index);
    if (!block) return this.nodeBox(index, depth);
    return block.members[0] === index ? this.blockBox(block, depth) : null;
  }

  blockBox(block, depth) {
    const nodes = block.members.map((index) => this.facts.nodes[index]);
    const title = `Block ${block.number} of ${block.of}`;
    const text = shortened(`${nodes.length} nodes: ${operatorsText(nodes)}`, 44);
    const total = nodes.reduce((sum, node) => sum + (node.time_us || 0), 0);
    const time = total > 0 ? timeText(total) : '';
    const head = widthOf(title, 'title') + (time ? widthOf(time, 'text') + 16 : 0) + 34;
    return {kind: 'block', block, members: block.members, depth, title, text, time, w: Math.max(92, head, widthOf(text, 'text') + 28), h: 42};
  }

  nodeBox(index, depth) {
    const node = this.facts.nodes[index];
    const title = shortened(node.op_type, 28);
    const output = this.values.get(node.outputs.find((name) => name) || '');
    const text = shortened(shapeText(output && output.type) || lastPart(node.node), 26);
    const time = node.time_us > 0 ? timeText(node.time_us) : '';
    const head = widthOf(title, 'title') + (time ? widthOf(time, 'text') + 16 : 0) + 34;
    const box = {kind: 'node', node: index, depth, title, text, time, w: Math.max(92, head, widthOf(text, 'text') + 28), h: 42};
    const bodies = [...this.graphs.values()].filter((graph) => graph.parent === index);
    if (!bodies.length) return box;
    box.bodies = bodies.map((graph) => {
      const scene = this.layout(graph, depth + 1);
      return {role: graph.body, scene, width: Math.max(scene.width, widthOf(graph.body, 'text') + 20), height: scene.height};
    });
    box.w = Math.max(box.w, box.bodies.reduce((sum, body) => sum + body.width + 16, 8));
    box.h = 78 + Math.max(...box.bodies.map((body) => body.height));
    return box;
  }

  // From who makes a value to who reads it; one edge for a pair, with all values between them.
  edgesOf(boxes) {
    const makers = new Map();
    boxes.forEach((box, i) => {
      if (box.kind === 'input') makers.set(box.value.name, {from: i, memory: 'CPU:0'});
      for (const index of membersOf(box)) {
        const {outputs, memory} = this.facts.nodes[index];
        for (const name of outputs) if (name) makers.set(name, {from: i, memory});
      }
    });
    const edges = new Map();
    const read = (name, to, memory) => {
      const maker = makers.get(name);
      if (!maker || maker.from === to) return;
      const key = maker.from + '>' + to;
      if (!edges.has(key)) edges.set(key, {from: maker.from, to, values: [], copy: null});
      const edge = edges.get(key);
      if (!edge.values.includes(name)) edge.values.push(name);
      if (memory !== maker.memory) edge.copy = edge.copy || this.copies.get(name + '\n' + memory) || null;
    };
    boxes.forEach((box, i) => {
      if (box.kind === 'output') read(box.value.name, i, 'CPU:0');
      for (const index of membersOf(box)) for (const name of this.facts.nodes[index].inputs) read(name, i, this.facts.nodes[index].memory);
    });
    return [...edges.values()];
  }
}

// Indices of the nodes that a box stands for; none for an input or output of the graph.
function membersOf(box) {
  return box.kind === 'node' ? [box.node] : box.members || [];
}

function moveInto(scene, inner, dx, dy) {
  for (const box of inner.boxes) {
    box.x += dx;
    box.y += dy;
    for (const body of box.bodies || []) {
      body.x += dx;
      body.y += dy;
    }
    scene.boxes.push(box);
  }
  for (const line of inner.lines) {
    line.x1 += dx;
    line.x2 += dx;
    line.y1 += dy;
    line.y2 += dy;
    scene.lines.push(line);
  }
  for (const edge of inner.edges) {
    edge.dx += dx;
    edge.dy += dy;
    scene.edges.push(edge);
  }
}

// What is drawn of the edges: a node's common way through the layers once, and the ends of each edge.
function linesOf(layered, boxes, edges) {
  const lines = [];
  const add = (x1, y1, x2, y2, from, edge) => {
    const last = lines[lines.length - 1];
    const goesOn = last && !edge && !last.edge && last.from === from && last.x1 === x1 && last.x2 === x1 && x2 === x1 && last.y2 === y1;
    if (goesOn) last.y2 = y2;
    else if (y2 > y1) lines.push({x1, y1, x2, y2, from, edge});
  };
  const outgoing = boxes.map(() => []);
  edges.forEach((edge) => outgoing[edge.from].push(edge));
  boxes.forEach((box, node) => {
    if (!outgoing[node].length) return;
    const start = layered.layer[node];
    const x = layered.x[node];
    add(x, layered.top[start] + box.h, x, layered.bottom[start], box, null);
    let before = x;
    layered.chains[node].forEach((place, i) => {
      const at = layered.x[place];
      add(before, layered.bottom[start + i], at, layered.top[start + 1 + i], box, null);
      add(at, layered.top[start + 1 + i], at, layered.bottom[start + 1 + i], box, null);
      before = at;
    });
    for (const edge of outgoing[node]) {
      const end = layered.layer[edge.to];
      const span = end - start;
      const chained = span > 1 && !layered.long.has(node);
      const from = chained ? layered.x[layered.chains[node][span - 2]] : x;
      const y = layered.bottom[chained ? end - 1 : start];
      lines.push({x1: from, y1: y, x2: layered.x[edge.to], y2: layered.top[end], from: box, edge, to: boxes[edge.to]});
    }
  });
  return lines;
}

function timeText(microseconds) {
  if (microseconds >= 1e6) return (microseconds / 1e6).toFixed(2) + ' s';
  if (microseconds >= 1e3) return (microseconds / 1e3).toFixed(microseconds >= 1e4 ? 1 : 2) + ' ms';
  return microseconds.toFixed(microseconds >= 10 ? 0 : 1) + ' \u00b5s';
}

function bytesText(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let unit = 0;
  while (bytes >= 1024 && unit < 4) {
    bytes /= 1024;
    unit++;
  }
  return (unit && bytes < 100 ? bytes.toFixed(1) : Math.round(bytes)) + ' ' + units[unit];
}
