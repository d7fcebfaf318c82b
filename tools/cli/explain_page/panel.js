// The panel: totals, the legend, the slowest nodes, and what is known of the selected one.

class Panel {
  constructor(page) {
    this.page = page;
    this.write();
  }

  write() {
    this.writeSummary();
    this.writeDevices();
    this.writeSlowest();
    this.writeFallen();
    this.writeSelected();
  }

  swatch(color) {
    return element('span', null, {class: 'swatch', style: `background:${color}`});
  }

  list(rows) {
    return element('dl', rows.filter((row) => row[1])
      .flatMap(([term, text]) => [element('dt', term), element('dd', text)]));
  }

  writeSummary() {
    const bytes = facts.transfers.reduce((sum, copy) => sum + copy.size_bytes, 0);
    const unknown = facts.transfers.filter((copy) => !copy.size_bytes).length;
    const copies = facts.transfers.length
      ? [facts.transfers.length, bytes ? bytesText(bytes) : '', !unknown ? '' : bytes ? `${unknown} of them of sizes that the run decides` : 'of sizes that the run decides'].filter(Boolean).join(', ') : 'none';
    byId('summary').replaceChildren(element('h2', 'Model'), this.list([
      ['nodes', String(facts.nodes.length)],
      ['asked for', facts.wanted],
      ['fallback', facts.fallback],
      ['copies per run', copies],
      ['weights', facts.memory && bytesText(facts.memory.weights_bytes)],
      ['activations', facts.activation_bytes && `about ${bytesText(facts.activation_bytes)} at once`],
      ['arena', facts.memory && facts.memory.arena_bytes && bytesText(facts.memory.arena_bytes)],
      ['estimated time', facts.estimated_us && timeText(facts.estimated_us)],
      ['measured time', this.page.mostTime && timeText(this.totalTime()) + ' in nodes'],
    ]));
  }

  totalTime() {
    return this.page.nodes.reduce((sum, node) => sum + (node.parent < 0 ? node.time_us || 0 : 0), 0);
  }

  writeDevices() {
    const {page} = this;
    const rows = [...page.devices.values()].map((row) => {
      const box = element('input', null, {type: 'checkbox'});
      box.checked = !page.hidden.has(row.device);
      box.onchange = () => page.toggleDevice(row.device);
      const providers = [...row.providers].map(([name, count]) => (row.providers.size > 1 ? `${name} ${count}` : name)).join(', ');
      const time = row.time_us ? `${timeText(row.time_us)} \u00b7 ` : '';
      return element('label', [box, this.swatch(page.deviceColor(row.device)), element('span', [row.device || 'nobody', ' ', element('small', providers)]),
                               element('span', `${time}${row.nodes}`, {class: 'count'})], {class: 'device', 'data-device': row.device});
    });
    const bar = element('div', [...page.devices.values()].map((row) =>
      element('span', null, {style: `flex:${row.nodes};background:${page.deviceColor(row.device)}`})), {class: 'bar'});
    byId('devices').replaceChildren(element('h2', 'Devices and their nodes'), bar, ...rows, ...this.notes());
  }

  notes() {
    const notes = [];
    if (facts.transfers.length) notes.push('Dashed lines are copies between memory spaces.');
    if (this.page.nodes.some((node) => node.device && node.reason && node.provider !== 'core')) notes.push('A corner marks a node that a preferred device refused.');
    if (this.page.mostTime) notes.push('The bar in a node is its time against the slowest one\u2019s.');
    return notes.map((text) => element('p', text, {class: 'note'}));
  }

  nodeRow(index, count) {
    const {page} = this;
    const node = page.nodes[index];
    const row = element('button', [this.swatch(page.deviceColor(node.device)), element('span', [element('b', node.op_type), ' ', node.node]),
                                   element('span', count, {class: 'count'})], {class: 'row', title: node.node});
    row.onclick = () => page.selectNode(index);
    return element('li', row);
  }

  writeSlowest() {
    const {page} = this;
    const total = this.totalTime() || 1;
    const timed = page.nodes.map((node, i) => i).filter((i) => page.nodes[i].time_us > 0);
    timed.sort((a, b) => page.nodes[b].time_us - page.nodes[a].time_us);
    byId('slowest').hidden = !timed.length;
    byId('slowest').replaceChildren(element('h2', 'Slowest nodes'), element('ul', timed.slice(0, 12).map((i) =>
      this.nodeRow(i, `${timeText(page.nodes[i].time_us)} \u00b7 ${((100 * page.nodes[i].time_us) / total).toFixed(0)}%`))));
  }

  writeFallen() {
    const {page} = this;
    const rows = page.nodes.map((node, i) => i).filter((i) => page.nodes[i].reason && page.nodes[i].provider !== 'core');
    byId('fallen').hidden = !rows.length;
    const reasons = new Map();
    for (const i of rows) reasons.set(page.nodes[i].reason, [...(reasons.get(page.nodes[i].reason) || []), i]);
    const most = [...reasons].sort((a, b) => b[1].length - a[1].length).slice(0, 12);
    byId('fallen').replaceChildren(element('h2', `Not where preferred: ${rows.length}`), element('ul', most.map(([reason, nodes]) => {
      const row = element('button', [element('span', `${nodes.length}\u00d7`), element('span', reason)], {class: 'row', title: reason});
      row.onclick = () => {
        page.setMatches(nodes);
        page.findNext(1);
      };
      return element('li', row);
    })));
  }

  // ---- One node ----

  typeOf(name) {
    const value = this.page.values.get(name);
    return value ? value.type : '';
  }

  tipOf(box) {
    if (box.kind === 'block') return [element('b', box.title), element('div', operatorsText(this.page.nodesOf(box))), element('div', this.devicesOf(box))];
    if (box.kind !== 'node') {
      return [element('b', box.value.name), element('div', `${box.kind} of the graph, ${box.value.type}`)];
    }
    const node = this.page.nodes[box.node];
    const parts = [element('b', `${node.domain ? node.domain + '::' : ''}${node.op_type}`), ' ', node.node,
                   element('div', [this.swatch(this.page.deviceColor(node.device)), this.whereOf(node)], {class: 'where'}),
                   element('div', node.outputs.map((name) => this.typeOf(name)).filter((text) => text).join(', '))];
    if (node.time_us) parts.push(element('div', timeText(node.time_us)));
    if (node.reason) parts.push(element('div', node.reason, {class: 'reason'}));
    return parts;
  }

  // "CPU:0 12, SIM:0 2"
  devicesOf(box) {
    const counts = new Map();
    for (const {device} of this.page.nodesOf(box)) counts.set(device, (counts.get(device) || 0) + 1);
    return [...counts].map(([device, count]) => `${device || 'nobody'} ${count}`).join(', ');
  }

  writeBlock(section, box) {
    const {page} = this;
    const nodes = page.nodesOf(box);
    const total = nodes.reduce((sum, node) => sum + (node.time_us || 0), 0);
    const open = element('button', 'Open', {id: 'open-block', title: 'Draw its nodes (Enter)'});
    open.onclick = () => page.setClosed(box.block, false);
    section.replaceChildren(
      element('h2', [this.swatch(page.colorOf(box)), box.title]), open,
      this.list([['operators', operatorsText(nodes)], ['devices', this.devicesOf(box)], ['measured', total > 0 ? `${timeText(total)} a run` : '']]),
      element('ul', box.members.map((index) => this.nodeRow(index, page.nodes[index].device || 'nobody'))));
    byId('panel').scrollTop = 0;
  }

  whereOf(node) {
    return node.device ? `${node.device} by ${node.provider}${node.kernel ? `, ${node.kernel}` : ''}` : 'no device takes it';
  }

  valueList(names) {
    return element('ul', names.map((name) => {
      if (!name) return element('li', 'absent');
      const value = this.page.values.get(name);
      const what = value ? `${value.type}${value.constant ? ', constant' : ''}${value.size_bytes ? `, ${bytesText(value.size_bytes)}` : ''}` : '';
      return element('li', [element('code', name), element('div', what, {class: 'note', style: 'margin:0 0 4px'})]);
    }));
  }

  writeSelected() {
    const {page} = this;
    const section = byId('selected');
    const box = page.marks.selected;
    section.hidden = !box;
    if (!box) return;
    if (box.kind === 'block') return this.writeBlock(section, box);
    if (box.kind !== 'node') {
      section.replaceChildren(element('h2', box.value.name), this.list([['what', `${box.kind} of the graph`], ['type', box.value.type]]));
      return;
    }
    const node = page.nodes[box.node];
    const copies = page.scene.edges.filter((edge) => edge.to === box && edge.copy).map((edge) =>
      `${edge.copy.value}: ${edge.copy.from} \u2192 ${edge.copy.to}${edge.copy.size_bytes ? `, ${bytesText(edge.copy.size_bytes)}` : ''}`);
    section.replaceChildren(
      element('h2', [this.swatch(page.deviceColor(node.device)), `${node.domain ? node.domain + '::' : ''}${node.op_type}`]),
      node.reason ? element('p', node.reason, {class: 'reason'}) : '',
      this.list([
        ['node', node.node], ['device', node.device || 'none'], ['provider', node.provider], ['kernel', node.kernel],
        ['implementation', node.implementation],
        ['inputs', this.valueList(node.inputs)], ['outputs', this.valueList(node.outputs)],
        ['copied for it', copies.length ? element('ul', copies.map((text) => element('li', text))) : ''],
        ['estimate', node.estimated_us > 0 ? timeText(node.estimated_us) : ''],
        ['measured', node.time_us > 0 ? `${timeText(node.time_us)} a run` : ''],
      ]));
    byId('panel').scrollTop = 0;
  }
}
