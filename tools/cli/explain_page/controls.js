// Pointer, keyboard, and the overview beside the graph.

class Pointer {
  constructor(page) {
    this.page = page;
    this.drag = null;
    const canvas = byId('graph');
    canvas.addEventListener('pointerdown', (event) => this.down(event));
    canvas.addEventListener('pointermove', (event) => this.move(event));
    canvas.addEventListener('pointerup', (event) => this.up(event));
    canvas.addEventListener('pointerleave', () => page.hover(null));
    canvas.addEventListener('dblclick', (event) => {
      const box = page.drawing.boxAt(event.offsetX, event.offsetY);
      if (box && box.kind === 'block') page.setClosed(box.block, false);
      else page.zoom(1.8, event.offsetX, event.offsetY);
    });
    canvas.addEventListener('wheel', (event) => this.wheel(event), {passive: false});
  }

  down(event) {
    this.drag = {x: event.offsetX, y: event.offsetY, moved: false};
    event.target.setPointerCapture(event.pointerId);
    event.target.focus({preventScroll: true});
  }

  move(event) {
    const {page, drag} = this;
    if (!drag) {
      page.hover(page.drawing.boxAt(event.offsetX, event.offsetY), event.offsetX, event.offsetY);
      return;
    }
    const [dx, dy] = [event.offsetX - drag.x, event.offsetY - drag.y];
    if (!drag.moved && Math.hypot(dx, dy) < 4) return;
    Object.assign(drag, {x: event.offsetX, y: event.offsetY, moved: true});
    page.camera.x -= dx / page.camera.scale;
    page.camera.y -= dy / page.camera.scale;
    page.hover(null);
    page.moved();
  }

  up(event) {
    const wasClick = this.drag && !this.drag.moved;
    this.drag = null;
    if (wasClick) this.page.select(this.page.drawing.boxAt(event.offsetX, event.offsetY), false);
  }

  // The wheel scrolls, as in a document; with Ctrl, or a pinch, it zooms.
  wheel(event) {
    event.preventDefault();
    const {page} = this;
    const unit = event.deltaMode === 1 ? 18 : 1;
    if (event.ctrlKey || event.metaKey) {
      page.zoom(Math.exp(-event.deltaY * unit * 0.0025), event.offsetX, event.offsetY);
      return;
    }
    const [dx, dy] = event.shiftKey ? [event.deltaY, 0] : [event.deltaX, event.deltaY];
    page.camera.x += (dx * unit) / page.camera.scale;
    page.camera.y += (dy * unit) / page.camera.scale;
    page.moved();
  }
}

class Keyboard {
  constructor(page) {
    this.page = page;
    byId('graph').addEventListener('keydown', (event) => this.onGraph(event));
    byId('search').addEventListener('keydown', (event) => this.onSearch(event));
    document.addEventListener('keydown', (event) => {
      if (event.key === '/' && event.target !== byId('search')) {
        event.preventDefault();
        byId('search').focus();
      }
    });
  }

  onSearch(event) {
    if (event.key === 'Enter') this.page.findNext(event.shiftKey ? -1 : 1);
    if (event.key !== 'Escape') return;
    byId('search').value = '';
    this.page.find('');
    byId('graph').focus();
  }

  onGraph(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const {page} = this;
    const actions = {
      '+': () => page.zoom(1.4),
      '=': () => page.zoom(1.4),
      '-': () => page.zoom(1 / 1.4),
      0: () => page.fit(),
      c: () => page.setColumns(!page.isInColumns),
      b: () => page.closeAll(!page.closed.size),
      Enter: () => page.toggleSelected(),
      Home: () => this.go(0),
      End: () => this.go(page.nodes.length - 1),
      Escape: () => page.select(null),
      ArrowDown: () => this.along(1),
      ArrowUp: () => this.along(-1),
      ArrowLeft: () => this.across(-1),
      ArrowRight: () => this.across(1),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  }

  go(index) {
    if (this.page.nodes.length) this.page.select(this.page.scene.boxOfNode[index]);
  }

  // To who reads a value of the selected node, or to who makes one for it.
  along(step) {
    const {selected} = this.page.marks;
    if (!selected) return this.go(0);
    const ends = this.page.scene.edges.filter((edge) => (step > 0 ? edge.from : edge.to) === selected);
    const boxes = ends.map((edge) => (step > 0 ? edge.to : edge.from));
    const inside = (selected.bodies || []).flatMap((body) => body.scene.boxes);
    const next = boxes[0] || (step > 0 && inside[0]);
    if (next) this.page.select(next);
  }

  // To the next box at the same height.
  across(step) {
    const {selected} = this.page.marks;
    if (!selected) return this.go(0);
    const row = this.page.scene.boxes.filter((box) => box.y === selected.y).sort((a, b) => a.x - b.x);
    const next = row[row.indexOf(selected) + step];
    if (next) this.page.select(next);
  }
}

// The whole graph in a strip, squeezed to fit, with a frame around what the stage shows.
class Overview {
  constructor(canvas, drawing, page) {
    Object.assign(this, {canvas, drawing, page, picture: document.createElement('canvas')});
    const go = (event) => {
      if (!(event.buttons & 1)) return;
      const ratio = window.devicePixelRatio || 1;
      const {x, y, left} = this.scales();
      page.lookAt((event.offsetX * ratio - left) / x, (event.offsetY * ratio) / y);
    };
    canvas.addEventListener('pointerdown', go);
    canvas.addEventListener('pointermove', go);
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    for (const canvas of [this.canvas, this.picture]) {
      canvas.width = Math.max(1, Math.round(this.canvas.clientWidth * ratio));
      canvas.height = Math.max(1, Math.round(this.canvas.clientHeight * ratio));
    }
    this.drawScene();
  }

  // From the scene to the strip: down to fill it, across no wider than it has to be.
  scales() {
    const {scene} = this.page;
    const across = Math.min(this.picture.width / (scene.width + 1), this.picture.width / 700);
    return {x: across, y: this.picture.height / (scene.height + 1), left: (this.picture.width - scene.width * across) / 2};
  }

  drawScene() {
    const {scene} = this.page;
    const context = this.picture.getContext('2d');
    const {width, height} = this.picture;
    context.clearRect(0, 0, width, height);
    const {x, y, left} = this.scales();
    for (const box of scene.boxes) {
      if (!membersOf(box).length || box.bodies) continue;
      context.globalAlpha = this.page.isFaint(box) ? 0.15 : 0.9;
      context.fillStyle = this.page.colorOf(box);
      context.fillRect(left + box.x * x, box.y * y, Math.max(2, box.w * x), Math.max(1.5, box.h * y));
    }
    this.request();
  }

  request() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.draw();
    });
  }

  draw() {
    const context = this.canvas.getContext('2d');
    const {width, height} = this.canvas;
    const {colors, camera} = this.page;
    context.clearRect(0, 0, width, height);
    context.drawImage(this.picture, 0, 0);
    const {x, y, left} = this.scales();
    const clip = (value, most) => Math.min(most - 1, Math.max(1, value));
    const [x1, x2] = [0, this.drawing.width / camera.scale].map((shift) => clip(left + (camera.x + shift) * x, width));
    const [y1, y2] = [0, this.drawing.height / camera.scale].map((shift) => clip((camera.y + shift) * y, height));
    context.lineWidth = 2;
    context.strokeStyle = colors.ink;
    context.strokeRect(x1, y1, Math.max(4, x2 - x1), Math.max(4, y2 - y1));
  }
}
