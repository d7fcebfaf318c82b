// Draws a scene on a canvas: only what is in view, and only as much of it as can be read.

const READABLE = 0.42;  // scale from which text is drawn
const SKETCH = 0.1;     // scale below which boxes are plain

function firstAtOrAfter(list, key, limit) {
  let low = 0;
  let high = list.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle][key] < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

class Drawing {
  constructor(canvas, scene, style) {
    this.canvas = canvas;
    this.style = style;  // {colorOf(box), isFaint(box), theme(), marks: {hover, selected, matches}}
    this.camera = {x: 0, y: 0, scale: 1};
    this.pending = false;
    this.setScene(scene);
  }

  setScene(scene) {
    this.scene = scene;
    this.tallest = Math.max(0, ...scene.boxes.filter((box) => !box.bodies).map((box) => box.h));
    this.leaves = scene.boxes.filter((box) => !box.bodies);
    this.frames = scene.boxes.filter((box) => box.bodies).sort((a, b) => a.depth - b.depth);
    const tall = 1500;
    this.short = scene.lines.filter((line) => line.y2 - line.y1 <= tall);
    this.long = scene.lines.filter((line) => line.y2 - line.y1 > tall);
    this.shortMost = tall;
    this.badges = scene.lines.filter((line) => line.edge && line.edge.copy);
  }

  get width() {
    return this.canvas.clientWidth;
  }
  get height() {
    return this.canvas.clientHeight;
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    this.canvas.width = Math.max(1, Math.round(this.width * ratio));
    this.canvas.height = Math.max(1, Math.round(this.height * ratio));
    this.request();
  }

  request() {
    if (this.pending) return;
    this.pending = true;
    requestAnimationFrame(() => {
      this.pending = false;
      this.draw(this.canvas.getContext('2d'), this.camera, this.width, this.height, window.devicePixelRatio || 1);
    });
  }

  draw(context, camera, width, height, ratio) {
    const theme = this.style.theme();
    const {x, y, scale} = camera;
    const view = {left: x, top: y, right: x + width / scale, bottom: y + height / scale};
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.fillStyle = theme.paper;
    context.fillRect(0, 0, width, height);
    context.setTransform(ratio * scale, 0, 0, ratio * scale, -x * scale * ratio, -y * scale * ratio);
    context.textBaseline = 'middle';
    for (const box of this.frames) if (isInView(box, view)) this.drawFrame(context, box, theme, scale);
    this.drawLines(context, view, theme, scale);
    const boxes = this.leavesIn(view);
    if (scale < SKETCH) this.drawSketch(context, boxes, scale);
    else for (const box of boxes) this.drawBox(context, box, theme, scale);
    if (scale >= READABLE * 0.7) this.drawBadges(context, view, theme);
    this.drawMarks(context, theme, scale);
  }

  leavesIn(view) {
    const found = [];
    for (let i = firstAtOrAfter(this.leaves, 'y', view.top - this.tallest); i < this.leaves.length; i++) {
      const box = this.leaves[i];
      if (box.y > view.bottom) break;
      if (box.x <= view.right && box.x + box.w >= view.left) found.push(box);
    }
    return found;
  }

  // A node with bodies: a frame around them.
  drawFrame(context, box, theme, scale) {
    context.globalAlpha = this.style.isFaint(box) ? 0.25 : 1;
    context.lineWidth = 1.5;
    context.strokeStyle = this.style.colorOf(box);
    context.fillStyle = theme.frame;
    context.setLineDash([6, 4]);
    roundedBox(context, box.x, box.y, box.w, box.h, 8);
    context.fill();
    context.stroke();
    context.setLineDash([]);
    if (scale >= READABLE * 0.6) {
      context.fillStyle = theme.ink;
      context.font = `600 14px ${FONT}`;
      context.fillText(box.title, box.x + 12, box.y + 16);
      context.font = FONTS.text;
      context.fillStyle = theme.quiet;
      context.fillText(box.time || box.text, box.x + 12, box.y + 33);
      for (const body of box.bodies) context.fillText(body.role, body.x, body.y + 9);
    }
    context.globalAlpha = 1;
  }

  drawLines(context, view, theme, scale) {
    const plain = new Path2D();
    const copied = new Path2D();
    const faint = new Path2D();
    const trace = (line) => {
      if (line.y1 > view.bottom || line.y2 < view.top) return;
      if (Math.max(line.x1, line.x2) < view.left || Math.min(line.x1, line.x2) > view.right) return;
      const isFaint = this.style.isFaint(line.from) || (line.to && this.style.isFaint(line.to));
      const path = isFaint ? faint : line.edge && line.edge.copy ? copied : plain;
      traceLine(path, line, scale);
    };
    for (let i = firstAtOrAfter(this.short, 'y1', view.top - this.shortMost); i < this.short.length; i++) {
      if (this.short[i].y1 > view.bottom) break;
      trace(this.short[i]);
    }
    this.long.forEach(trace);
    const width = Math.max(1.2, 0.8 / scale);
    context.lineWidth = width;
    context.strokeStyle = theme.faintLine;
    context.stroke(faint);
    context.strokeStyle = theme.line;
    context.stroke(plain);
    context.lineWidth = width * 1.8;
    context.strokeStyle = theme.copy;
    context.setLineDash([5 * Math.max(1, 0.5 / scale), 4 * Math.max(1, 0.5 / scale)]);
    context.stroke(copied);
    context.setLineDash([]);
  }

  drawSketch(context, boxes, scale) {
    const grow = Math.max(0, 2 / scale - 42) / 2;
    for (const box of boxes) {
      context.globalAlpha = this.style.isFaint(box) ? 0.15 : 1;
      context.fillStyle = this.style.colorOf(box);
      context.fillRect(box.x, box.y - grow, box.w, box.h + 2 * grow);
    }
    context.globalAlpha = 1;
  }

  drawBox(context, box, theme, scale) {
    const color = this.style.colorOf(box);
    const isEnd = box.kind === 'input' || box.kind === 'output';
    const isFallen = !isEnd && this.style.isFallen(box);
    context.globalAlpha = this.style.isFaint(box) ? 0.18 : 1;
    if (box.kind === 'block') this.drawStack(context, box, theme, color);
    context.fillStyle = theme.paper;
    roundedBox(context, box.x, box.y, box.w, box.h, isEnd ? box.h / 2 : 6);
    context.fill();
    const wash = context.globalAlpha;
    // From afar colors have to do without text.
    context.globalAlpha = wash * (isEnd ? 0.1 : scale < READABLE * 0.75 ? 0.65 : theme.wash);
    context.fillStyle = color;
    context.fill();
    context.globalAlpha = wash;
    context.lineWidth = 1.3;
    context.strokeStyle = color;
    if (!isEnd && this.style.isHomeless(box)) context.setLineDash([4, 3]);
    context.stroke();
    context.setLineDash([]);
    if (!isEnd) {
      context.fillStyle = color;
      context.beginPath();
      context.roundRect(box.x, box.y, 7, box.h, [6, 0, 0, 6]);
      context.fill();
      const share = this.style.shareOf(box);
      if (share > 0) context.fillRect(box.x + 7, box.y + box.h - 4, (box.w - 10) * share, 3);
    }
    if (isFallen && scale >= 0.25) {
      context.beginPath();
      context.moveTo(box.x + box.w - 12, box.y);
      context.lineTo(box.x + box.w, box.y);
      context.lineTo(box.x + box.w, box.y + 12);
      context.closePath();
      context.fillStyle = theme.copy;
      context.fill();
    }
    if (scale >= READABLE * 0.75) this.drawText(context, box, theme, scale, isEnd);
    context.globalAlpha = 1;
  }

  // A block: more boxes behind the first.
  drawStack(context, box, theme, color) {
    context.lineWidth = 1.3;
    context.fillStyle = theme.paper;
    context.strokeStyle = color;
    for (const shift of [8, 4]) {
      roundedBox(context, box.x + shift, box.y + shift, box.w, box.h, 6);
      context.fill();
      context.stroke();
    }
  }

  drawText(context, box, theme, scale, isEnd) {
    const left = box.x + (isEnd ? 15 : 15);
    context.fillStyle = theme.ink;
    context.font = FONTS.title;
    context.fillText(box.title, left, box.y + (isEnd ? 12 : 15));
    if (scale < READABLE) return;
    context.font = FONTS.text;
    context.fillStyle = theme.quiet;
    context.fillText(box.text, left, box.y + (isEnd ? 25.5 : 30));
    if (!box.time) return;
    context.textAlign = 'right';
    context.fillText(box.time, box.x + box.w - (this.style.isFallen(box) ? 14 : 8), box.y + 15);
    context.textAlign = 'left';
  }

  // How many bytes a copy moves, on its line.
  drawBadges(context, view, theme) {
    context.font = `600 10px ${FONT}`;
    context.textAlign = 'center';
    for (let i = firstAtOrAfter(this.badges, 'y1', view.top - this.shortMost); i < this.badges.length; i++) {
      const line = this.badges[i];
      if (line.y1 > view.bottom) break;
      if (this.style.isFaint(line.from) || this.style.isFaint(line.to)) continue;
      const copy = line.edge.copy;
      const text = copy.size_bytes ? bytesText(copy.size_bytes) : 'copy';
      const width = text.length * 6 + 22;
      const x = line.x2;
      const y = line.y2 - 12;
      context.fillStyle = theme.paper;
      context.strokeStyle = theme.copy;
      context.lineWidth = 1.2;
      roundedBox(context, x - width / 2, y - 8, width, 16, 8);
      context.fill();
      context.stroke();
      context.fillStyle = theme.copy;
      context.fillText('\u21c4 ' + text, x, y + 0.5);
    }
    context.textAlign = 'left';
  }

  // What is pointed at, selected and found, over everything else.
  drawMarks(context, theme, scale) {
    const {hover, selected, matches} = this.style.marks;
    for (const box of [selected, hover]) {
      if (!box) continue;
      const path = new Path2D();
      for (const edge of this.scene.edges) {
        if (edge.from === box || edge.to === box) tracePoints(path, edge, this.scene.fold);
      }
      context.lineWidth = Math.max(2.2, 1.6 / scale);
      context.strokeStyle = theme.ink;
      context.stroke(path);
    }
    const outline = (box, color, width) => {
      const grow = Math.max(3, 3 / scale);
      context.lineWidth = Math.max(width, width / scale);
      context.strokeStyle = color;
      roundedBox(context, box.x - grow, box.y - grow, box.w + 2 * grow, box.h + 2 * grow, 9);
      context.stroke();
    };
    for (const box of matches) outline(box, theme.match, 2.5);
    if (hover && hover !== selected) outline(hover, theme.quiet, 1.5);
    if (selected) outline(selected, theme.ink, 2.5);
  }

  boxAt(x, y) {
    const worldX = this.camera.x + x / this.camera.scale;
    const worldY = this.camera.y + y / this.camera.scale;
    const isIn = (box) => worldX >= box.x && worldX <= box.x + box.w && worldY >= box.y && worldY <= box.y + box.h;
    const view = {left: worldX, right: worldX, top: worldY, bottom: worldY};
    return this.leavesIn(view).find(isIn) || [...this.frames].reverse().find(isIn) || null;
  }
}

function isInView(box, view) {
  return box.y <= view.bottom && box.y + box.h >= view.top && box.x <= view.right && box.x + box.w >= view.left;
}

function roundedBox(context, x, y, width, height, radius) {
  context.beginPath();
  context.roundRect(x, y, width, height, radius);
}

function traceLine(path, line, scale) {
  path.moveTo(line.x1, line.y1);
  if (line.x1 === line.x2 || scale < SKETCH) {
    path.lineTo(line.x2, line.y2);
    return;
  }
  const middle = (line.y1 + line.y2) / 2;
  path.bezierCurveTo(line.x1, middle, line.x2, middle, line.x2, line.y2);
}

function tracePoints(path, edge, fold) {
  const points = edge.points();
  for (let i = 1; i < points.length; i++) {
    const [[x1, y1], [x2, y2]] = [points[i - 1], points[i]];
    const line = {x1: x1 + edge.dx, y1: y1 + edge.dy, x2: x2 + edge.dx, y2: y2 + edge.dy};
    for (const piece of fold ? fold.pieces(line) : [line]) traceLine(path, piece, 1);
  }
}
