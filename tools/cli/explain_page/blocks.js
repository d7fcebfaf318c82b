// Repeated blocks: stretches of the main graph whose operators come several times in a row in the
// same order, as the layers of a network do. Each may be drawn as one box. A stretch of nodes in an
// order in which they can run never closes a circle when it becomes one.

const LEAST_NODES = 3;  // of a block
const LEAST_TIMES = 3;  // that it is repeated
const MOST_NODES = 500;

// {members: indices of nodes, number: from 1, of: how many there are in a row}
function findBlocks(facts) {
  const main = facts.nodes.map((node, i) => i).filter((i) => facts.nodes[i].parent < 0);
  const operators = main.map((i) => `${facts.nodes[i].domain || ''}::${facts.nodes[i].op_type}`);
  const alive = aliveBefore(facts, main);
  const blocks = [];
  const parts = [[0, main.length]];
  while (parts.length) {
    const [begin, end] = parts.pop();
    const found = longestRepeat(operators, alive, begin, end);
    if (!found) continue;
    for (let number = 0; number < found.times; number++) {
      const first = found.begin + number * found.size;
      blocks.push({members: main.slice(first, first + found.size), number: number + 1, of: found.times});
    }
    parts.push([begin, found.begin], [found.begin + found.times * found.size, end]);
  }
  return blocks.sort((a, b) => a.members[0] - b.members[0]);
}

// How many values that were made before each place are read from there on.
function aliveBefore(facts, main) {
  const made = new Map();
  const change = new Array(main.length + 1).fill(0);
  main.forEach((index, place) => facts.nodes[index].outputs.forEach((name) => name && made.set(name, place)));
  const last = new Map();
  main.forEach((index, place) => facts.nodes[index].inputs.forEach((name) => made.has(name) && last.set(name, place)));
  for (const [name, place] of last) {
    change[made.get(name) + 1]++;
    change[place + 1]--;
  }
  let alive = 0;
  return change.map((difference) => (alive += difference));
}

// The repetition that covers most; of about equal ones that of the smallest block.
function longestRepeat(operators, alive, begin, end) {
  let best = null;
  for (let size = LEAST_NODES; size <= Math.min(MOST_NODES, (end - begin) / LEAST_TIMES); size++) {
    let equal = 0;
    for (let i = begin; i + size <= end; i++) {
      if (i + size < end && operators[i] === operators[i + size]) {
        equal++;
        continue;
      }
      const times = Math.floor(equal / size) + 1;
      if (times >= LEAST_TIMES && (!best || times * size > 1.05 * best.covered))
        best = {size, covered: times * size, from: i - equal, to: i + size};
      equal = 0;
    }
  }
  return best && bestBegin(best, alive);
}

// Of all places at which the blocks may begin, one where few values go from one to the next.
function bestBegin({size, from, to}, alive) {
  let best = null;
  for (let begin = from; begin < from + size; begin++) {
    const times = Math.floor((to - begin) / size);
    if (times < LEAST_TIMES) break;
    const cost = alive[begin + size];
    if (!best || cost < best.cost || (cost === best.cost && times > best.times)) best = {begin, size, times, cost};
  }
  return best;
}

// "MatMul 4, Add 3, Softmax": most frequent first.
function operatorsText(nodes) {
  const counts = new Map();
  for (const node of nodes) counts.set(node.op_type, (counts.get(node.op_type) || 0) + 1);
  return [...counts].sort((a, b) => b[1] - a[1]).map(([name, count]) => (count > 1 ? `${name} ${count}` : name)).join(', ');
}
