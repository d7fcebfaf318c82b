// The page: what the reader points at, finds, filters and asks for.

// Okabe and Ito's colors, told apart by all kinds of color vision; lighter on dark paper.
const COLORS = {
  light: ['#0072b2', '#d98200', '#009e73', '#cc5f9b', '#56a8d8', '#8a7a00', '#7a4fb5'],
  dark: ['#4fa8e0', '#f0ac3f', '#2fc79b', '#ec9cc8', '#9ed4f2', '#e6d95c', '#b79bec'],
};
const NOBODY = {light: '#b3261e', dark: '#ff8a80'};
const END = {light: '#5b6775', dark: '#9aa7b4'};
// From little to much time, light to dark on paper and the other way round at night.
const HEAT = {light: ['#f3e3bd', '#eda35a', '#c8452f', '#6d1020'], dark: ['#564c42', '#8a5a2b', '#e07b39', '#ffd27a']};

const facts = JSON.parse(document.getElementById('facts').textContent);
const byId = (id) => document.getElementById(id);

function element(tag, content, attributes) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  for (const part of [content].flat()) if (part !== undefined && part !== null) made.append(part);
  return made;
}

function mix(from, to, share) {
  const parse = (color) => [1, 3, 5].map((at) => parseInt(color.slice(at, at + 2), 16));
  const [a, b] = [parse(from), parse(to)];
  return `rgb(${a.map((channel, i) => Math.round(channel + (b[i] - channel) * share)).join(',')})`;
}

class Page {
  constructor() {
    this.nodes = facts.nodes;
    this.values = new Map(facts.values.map((value) => [value.name, value]));
    this.devices = this.countDevices();
    this.mostTime = Math.max(0, ...this.nodes.map((node) => node.time_us || 0));
    this.hidden = new Set();
    this.isByTime = false;
    this.marks = {hover: null, selected: null, matches: []};
    this.dark = window.matchMedia('(prefers-color-scheme: dark)').matches;
    this.isInColumns = false;
    this.blocks = findBlocks(facts);
    this.closed = new Set();  // blocks that are drawn as one box
    this.matchNodes = [];
    this.scene = this.buildScene();
    this.drawing = new Drawing(byId('graph'), this.scene, this);
    this.overview = new Overview(byId('overview'), this.drawing, this);
    this.setTheme();
    this.writeHeader();
    this.panel = new Panel(this);
    this.bindTools();
    new Pointer(this);
    new Keyboard(this);
    new ResizeObserver(() => this.resize()).observe(byId('stage'));
    this.resize();
    this.showStart();
  }

  buildScene() {
    return new SceneBuilder(facts, [...this.closed]).build(this.isInColumns);
  }

  countDevices() {
    const devices = new Map();
    for (const node of this.nodes) {
      if (!devices.has(node.device)) devices.set(node.device, {device: node.device, nodes: 0, providers: new Map(), time_us: 0});
      const row = devices.get(node.device);
      row.nodes++;
      if (node.parent < 0) row.time_us += node.time_us || 0;
      row.providers.set(node.provider, (row.providers.get(node.provider) || 0) + 1);
    }
    const names = [...devices.keys()].filter((name) => name).sort();
    names.forEach((name, i) => (devices.get(name).color = i % COLORS.light.length));
    return new Map([...devices].sort((a, b) => (a[0] ? 0 : 1) - (b[0] ? 0 : 1) || b[1].nodes - a[1].nodes));
  }

  // ---- What the drawing asks ----

  get tone() {
    return this.dark ? 'dark' : 'light';
  }

  deviceColor(device) {
    return device ? COLORS[this.tone][this.devices.get(device).color] : NOBODY[this.tone];
  }

  // A block has the color of most of its nodes, or of the slowest.
  colorOf(box) {
    const nodes = this.nodesOf(box);
    if (!nodes.length) return END[this.tone];
    if (this.isByTime) return this.heatOf(nodes.reduce((slow, node) => ((node.time_us || 0) > (slow.time_us || 0) ? node : slow)));
    const counts = new Map();
    for (const {device} of nodes) counts.set(device, (counts.get(device) || 0) + 1);
    return this.deviceColor([...counts].reduce((most, row) => (row[1] > most[1] ? row : most))[0]);
  }

  nodesOf(box) {
    return membersOf(box).map((index) => this.nodes[index]);
  }

  heatOf(node) {
    const steps = HEAT[this.tone];
    const share = this.mostTime ? Math.sqrt((node.time_us || 0) / this.mostTime) : 0;
    const at = Math.min(share * (steps.length - 1), steps.length - 1.001);
    return mix(steps[Math.floor(at)], steps[Math.floor(at) + 1], at % 1);
  }

  isFaint(box) {
    const nodes = this.nodesOf(box);
    return nodes.length > 0 && nodes.every((node) => this.hidden.has(node.device));
  }

  isFallen(box) {
    return this.nodesOf(box).some((node) => Boolean(node.reason) && node.provider !== 'core');
  }

  isHomeless(box) {
    return this.nodesOf(box).some((node) => !node.device);
  }

  shareOf(box) {
    const time = this.nodesOf(box).reduce((sum, node) => sum + (node.time_us || 0), 0);
    return this.mostTime ? Math.min(1, time / this.mostTime) : 0;
  }

  theme() {
    return this.colors;
  }

  // ---- Header and tools ----

  writeHeader() {
    const name = facts.model.slice(facts.model.lastIndexOf('/') + 1);
    document.title = `${name} \u2013 gantry`;
    byId('title').textContent = name;
    byId('title').title = facts.model;
    const homeless = this.nodes.filter((node) => !node.device).length;
    const fallen = this.nodes.filter((node) => node.device && node.reason && node.provider !== 'core').length;
    const verdict = facts.compatible
      ? [element('b', 'runs', {class: 'good'}), ` on ${[...this.devices.keys()].join(', ')}`]
      : [element('b', 'does not run', {class: 'bad'}), `: ${homeless} of ${this.nodes.length} nodes have no device`];
    if (facts.compatible && fallen) verdict.push(` \u00b7 ${fallen} of ${this.nodes.length} nodes not where preferred`);
    byId('verdict').replaceChildren(...verdict);
  }

  bindTools() {
    byId('zoom-in').onclick = () => this.zoom(1.4);
    byId('zoom-out').onclick = () => this.zoom(1 / 1.4);
    byId('fit').onclick = () => this.fit();
    byId('theme').onclick = () => {
      this.dark = !this.dark;
      this.setTheme();
    };
    window.matchMedia('(prefers-color-scheme: dark)').onchange = (change) => {
      this.dark = change.matches;
      this.setTheme();
    };
    const byTime = byId('by-time');
    byTime.hidden = !this.mostTime;
    byTime.onclick = () => {
      this.isByTime = !this.isByTime;
      byTime.setAttribute('aria-pressed', String(this.isByTime));
      this.refresh();
    };
    byId('columns').onclick = () => this.setColumns(!this.isInColumns);
    byId('blocks').hidden = !this.blocks.length;
    byId('blocks').onclick = () => this.closeAll(!this.closed.size);
    byId('search').oninput = () => this.find(byId('search').value);
    window.addEventListener('beforeprint', () => this.print());
  }

  setTheme() {
    document.documentElement.dataset.theme = this.tone;
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    this.colors = {
      paper: of('--paper'), frame: of('--frame'), ink: of('--ink'), quiet: of('--quiet'), line: of('--line'),
      faintLine: of('--faint-line'), copy: of('--copy'), match: of('--match'), wash: Number(of('--wash')), side: of('--side'),
    };
    this.refresh();
  }

  refresh() {
    if (this.panel) this.panel.write();
    this.overview.drawScene();
    this.drawing.request();
  }

  // ---- Moving about ----

  resize() {
    this.drawing.resize();
    this.overview.resize();
  }

  moved() {
    this.drawing.request();
    this.overview.request();
  }

  get camera() {
    return this.drawing.camera;
  }

  zoom(factor, x = this.drawing.width / 2, y = this.drawing.height / 2) {
    const camera = this.camera;
    const scale = Math.min(3, Math.max(this.fitScale() * 0.8, camera.scale * factor));
    camera.x += x / camera.scale - x / scale;
    camera.y += y / camera.scale - y / scale;
    camera.scale = scale;
    this.moved();
  }

  fitScale() {
    const {width, height} = this.scene;
    return Math.min(1, this.drawing.width / (width + 60), this.drawing.height / (height + 60));
  }

  fit() {
    const scale = this.fitScale();
    this.lookAt(this.scene.width / 2, this.scene.height / 2, scale);
  }

  lookAt(x, y, scale = this.camera.scale) {
    Object.assign(this.camera, {scale, x: x - this.drawing.width / scale / 2, y: y - this.drawing.height / scale / 2});
    this.moved();
  }

  // All of a small graph; of a large one its beginning, large enough to be read.
  showStart() {
    const scale = Math.max(this.fitScale(), 0.8);
    if (scale <= this.fitScale()) return this.fit();
    const first = this.scene.boxes[0] || {x: 0, y: 0, w: 0};
    this.lookAt(first.x + first.w / 2, this.drawing.height / scale / 2 - 24 / scale, scale);
  }

  show(box) {
    const {x, y, scale} = this.camera;
    const [left, top] = [(box.x - x) * scale, (box.y - y) * scale];
    const isSeen = left > 40 && top > 40 && left + box.w * scale < this.drawing.width - 40 && top + Math.min(box.h, 80) * scale < this.drawing.height - 40;
    if (!isSeen || scale < READABLE) this.lookAt(box.x + box.w / 2, box.y + Math.min(box.h, 80) / 2, Math.max(scale, 0.85));
  }

  select(box, isShown = true) {
    this.marks.selected = box;
    if (box && isShown) this.show(box);
    this.panel.writeSelected();
    this.moved();
  }

  // The node itself: a block around it is opened.
  selectNode(index) {
    const box = this.scene.boxOfNode[index];
    if (box.kind === 'block') this.setClosed(box.block, false);
    this.select(this.scene.boxOfNode[index]);
  }

  hover(box, x, y) {
    const tip = byId('tip');
    if (box !== this.marks.hover) {
      this.marks.hover = box;
      byId('graph').classList.toggle('over', Boolean(box));
      if (box) tip.replaceChildren(...this.panel.tipOf(box));
      this.drawing.request();
    }
    tip.hidden = !box;
    if (!box) return;
    tip.style.left = Math.min(x + 16, this.drawing.width - tip.offsetWidth - 8) + 'px';
    tip.style.top = (y + 20 + tip.offsetHeight > this.drawing.height ? Math.max(8, y - tip.offsetHeight - 12) : y + 20) + 'px';
  }

  // ---- Finding ----

  find(text) {
    const wanted = text.trim().toLowerCase();
    const holds = (node) => node.node.toLowerCase().includes(wanted) || node.op_type.toLowerCase().includes(wanted);
    const matches = wanted ? this.nodes.map((node, i) => (holds(node) ? i : -1)).filter((i) => i >= 0) : [];
    this.setMatches(matches);
    byId('found').textContent = wanted ? (matches.length ? `${matches.length} found` : 'none') : '';
    if (matches.length) this.show(this.marks.matches[0]);
    this.moved();
  }

  setMatches(nodes) {
    this.matchNodes = nodes;
    this.marks.matches = [...new Set(nodes.map((i) => this.scene.boxOfNode[i]))];
    this.foundAt = -1;
  }

  findNext(step) {
    const matches = this.matchNodes;
    if (!matches.length) return;
    this.foundAt = (this.foundAt + step + matches.length + (this.foundAt < 0 && step < 0 ? 1 : 0)) % matches.length;
    byId('found').textContent = `${this.foundAt + 1} of ${matches.length}`;
    this.selectNode(matches[this.foundAt]);
  }

  toggleDevice(device) {
    if (!this.hidden.delete(device)) this.hidden.add(device);
    this.refresh();
  }

  // The graph in one column, or in as many as make it about as wide as high.
  setColumns(isInColumns) {
    this.isInColumns = isInColumns;
    byId('columns').setAttribute('aria-pressed', String(isInColumns));
    this.rebuild();
  }

  // All repeated blocks as one box each, or none.
  closeAll(isClosed) {
    this.closed = new Set(isClosed ? this.blocks : []);
    this.rebuild();
  }

  setClosed(block, isClosed) {
    if (isClosed) this.closed.add(block);
    else this.closed.delete(block);
    this.rebuild();
  }

  // The block of a selected node closes, a selected block opens.
  toggleSelected() {
    const {selected} = this.marks;
    if (!selected) return;
    const index = membersOf(selected)[0];
    const block = this.blocks.find((each) => each.members.includes(index));
    if (block) this.setClosed(block, selected.kind !== 'block');
  }

  rebuild() {
    const {isInColumns} = this;
    byId('blocks').setAttribute('aria-pressed', String(this.closed.size > 0));
    this.scene = this.buildScene();
    const again = (box) => (box && membersOf(box).length ? this.scene.boxOfNode[membersOf(box)[0]] : null);
    this.marks = {hover: null, selected: again(this.marks.selected), matches: [...new Set(this.matchNodes.map((i) => this.scene.boxOfNode[i]))]};
    this.drawing.setScene(this.scene);
    this.refresh();
    if (isInColumns) this.fit();
    else if (this.marks.selected) this.show(this.marks.selected);
    else this.showStart();
  }

  // The whole graph as a picture, by day; a tall one in columns.
  print() {
    const {dark, isInColumns} = this;
    this.dark = false;
    this.setTheme();
    if (!isInColumns && this.scene.height > 3 * this.scene.width) this.setColumns(true);
    const canvas = document.createElement('canvas');
    const scale = Math.min(2, 6000 / Math.max(this.scene.width, this.scene.height, 1));
    [canvas.width, canvas.height] = [Math.ceil((this.scene.width + 40) * scale), Math.ceil((this.scene.height + 40) * scale)];
    this.drawing.draw(canvas.getContext('2d'), {x: -20, y: -20, scale}, canvas.width, canvas.height, 1);
    byId('print').src = canvas.toDataURL();
    if (isInColumns !== this.isInColumns) this.setColumns(isInColumns);
    this.dark = dark;
    this.setTheme();
  }

  // Where a node is on the screen; for those who drive the page.
  positionOf(name) {
    const box = this.scene.boxOfNode[this.nodes.findIndex((node) => node.node === name)];
    const stage = byId('graph').getBoundingClientRect();
    const {x, y, scale} = this.camera;
    return {x: stage.left + (box.x - x) * scale, y: stage.top + (box.y - y) * scale, width: box.w * scale, height: box.h * scale};
  }
}

window.addEventListener('DOMContentLoaded', () => {
  const start = performance.now();
  window.page = new Page();
  requestAnimationFrame(() => setTimeout(() => {
    document.documentElement.dataset.readyMs = String(Math.round(performance.now() - start));
  }));
});
