// A tall scene in columns, as text in a newspaper: so that all of a long model is seen at once. Lines
// that go on in the next column end at the foot of one and begin at the head of the other.

const COLUMN_GAP = 90;
const WIDE = 1.7;  // of the whole, against its height

class Fold {
  // `layers` of the scene: {top, bottom} of the main graph's.
  constructor({boxes, lines, width, height, layers}) {
    const wanted = Math.max(1, Math.round(Math.sqrt((WIDE * height) / (width + COLUMN_GAP))));
    const most = height / wanted + 100;
    this.starts = [0];
    this.ends = [];
    layers.top.forEach((top, i) => {
      const start = this.starts[this.starts.length - 1];
      if (i > 0 && layers.bottom[i] - start > most) {
        this.ends.push(layers.bottom[i - 1] + GAPS.down / 2);
        this.starts.push(top - GAPS.down / 2);
      }
    });
    this.ends.push(height);
    this.shifts = this.shiftsOf(boxes, lines);
    this.height = Math.max(...this.starts.map((start, i) => this.ends[i] - start));
  }

  // How far each column moves, so that one stands beside the other.
  shiftsOf(boxes, lines) {
    const left = this.starts.map(() => Infinity);
    const right = this.starts.map(() => -Infinity);
    const widen = (y, from, to) => {
      const column = this.columnOf(y);
      left[column] = Math.min(left[column], from);
      right[column] = Math.max(right[column], to);
    };
    for (const box of boxes) widen(box.y, box.x, box.x + box.w);
    for (const line of lines) {
      for (let column = this.columnOf(line.y1); column <= this.columnOf(line.y2); column++)
        widen(this.starts[column], Math.min(line.x1, line.x2), Math.max(line.x1, line.x2));
    }
    let x = 0;
    const shifts = left.map((from, column) => {
      const shift = x - from;
      x += right[column] - from + COLUMN_GAP;
      return shift;
    });
    this.width = x - COLUMN_GAP;
    return shifts;
  }

  columnOf(y) {
    let [low, high] = [0, this.starts.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.starts[middle] <= y) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  place(box) {
    const column = this.columnOf(box.y);
    for (const part of [box, ...(box.bodies || [])]) {
      part.x += this.shifts[column];
      part.y -= this.starts[column];
    }
  }

  // The pieces of a line, one for each column that it is in.
  pieces(line) {
    const first = this.columnOf(line.y1);
    const last = Math.max(first, this.columnOf(line.y2 - 0.01));
    const pieces = [];
    for (let column = first; column <= last; column++) {
      const isLast = column === last;
      pieces.push({
        ...line,
        edge: isLast ? line.edge : line.edge && {...line.edge, copy: null},
        x1: (column === first ? line.x1 : line.x2) + this.shifts[column],
        x2: (isLast || column > first ? line.x2 : line.x1) + this.shifts[column],
        y1: (column === first ? line.y1 : this.starts[column]) - this.starts[column],
        y2: (isLast ? line.y2 : this.ends[column]) - this.starts[column],
      });
    }
    return pieces;
  }
}
