// Keys: `/` goes to the search, `j` and `k` to what follows and what comes before, `?` says so. Renews the parts of a live page when the store changes
// (web/live.h): what comes is the HTML of one element, which takes the place of the one
// with its id. Without this script the
// page is the same, as of when it was loaded.
'use strict';
{
  const main = document.querySelector('main');
  let turn = main.dataset.turn;
  let source = null;

  // Rows and nodes of the graph are only read inside of what they stand in.
  const around = (id) =>
    /^[rs][0-9]+$/.test(id) ? ['<table><tbody>', '</tbody></table>'] : /^n[0-9]+$/.test(id) ? ['<svg>', '</svg>'] : ['', ''];

  // Where the reader was in the part: the same element is found by its id or address.
  const find = (part, element) =>
    (element.id && part.querySelector('#' + CSS.escape(element.id))) ||
    (element.getAttribute('href') && part.querySelector(`a[href="${CSS.escape(element.getAttribute('href'))}"]`));

  const renew = (id, html) => {
    const old = document.getElementById(id);
    const atEnd = id === 'log' && innerHeight + scrollY >= document.documentElement.scrollHeight - 60;
    const [before, behind] = around(id);
    const fresh = new DOMParser().parseFromString(before + html + behind, 'text/html').getElementById(id);
    if (!old || !fresh) return;
    const focus = old.contains(document.activeElement) ? document.activeElement : null;
    const boxes = [...old.querySelectorAll('.wide')].map((box) => [box.scrollLeft, box.scrollTop]);
    for (const details of old.querySelectorAll('details[id]')) {
      const other = fresh.querySelector('#' + CSS.escape(details.id));
      if (other) other.open = details.open;
    }
    old.replaceWith(document.adoptNode(fresh));
    fresh.querySelectorAll('.wide').forEach((box, i) => {
      if (boxes[i]) [box.scrollLeft, box.scrollTop] = boxes[i];
    });
    if (atEnd) scrollTo(scrollX, document.documentElement.scrollHeight);
    if (focus) (focus === old ? fresh : find(fresh, focus))?.focus({ preventScroll: true });
  };

  const open = () => {
    const query = new URLSearchParams(location.search);
    if (turn !== undefined) query.set('turn', turn);
    source = new EventSource((location.pathname === '/' ? '' : location.pathname) + '/events?' + query);
    source.addEventListener('part', (event) => {
      const end = event.data.indexOf('\n');
      if (event.lastEventId) turn = event.lastEventId;
      renew(event.data.slice(0, end), event.data.slice(end + 1));
    });
    source.addEventListener('reload', () => location.reload());
  };

  // A page that nobody sees takes none of the browser's few connections.
  const follow = () => {
    if (document.hidden) {
      source?.close();
      source = null;
    } else if (!source) {
      open();
    }
  };
  if (turn !== undefined) {
    document.addEventListener('visibilitychange', follow);
    follow();
  }

  // What looks through many checkpoints comes in parts: the rows of the next one are put
  // behind those that are there, until there are many.
  const goOn = async () => {
    const rows = document.querySelector('main tbody');
    for (let at; rows.children.length < 200 && (at = document.querySelector('p.next')?.querySelector('a')); ) {
      const answer = await fetch(at.href);
      const part = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const next = part.querySelector('p.next');
      if (!answer.ok || !next) return;
      rows.append(...part.querySelectorAll('main tbody > tr'));
      document.querySelector('p.next').replaceWith(next);
    }
  };
  if (document.querySelector('p.next a')) goOn();

  // What j and k go to: what stands below the other, in the order of the page.
  const stops = () => [...document.querySelectorAll('main :is(tbody tr, summary, .message, .hits li, .mark)')].filter((e) => e.offsetParent);
  let at = null;
  const go = (by) => {
    const all = stops();
    const from = all.indexOf(at);
    const next = from < 0 ? all.find((e) => e.getBoundingClientRect().bottom > 0) : all[from + by];
    if (!next) return;
    at?.classList.remove('at');
    at = next;
    at.classList.add('at');
    const target = at.matches('summary') ? at : at.querySelector('a') ?? at.querySelector('input, button') ?? at;
    if (target === at) at.tabIndex = -1;
    target.focus({ preventScroll: true });
    at.scrollIntoView({ block: 'nearest' });
  };

  // What changes how a graph is shown loads the page again: the same part of it stays in sight.
  const graph = document.querySelector('.wide.graph');
  if (graph) {
    const [left, top] = JSON.parse(sessionStorage.getItem('graph') ?? '[]');
    sessionStorage.removeItem('graph');
    if (left !== undefined) graph.scrollTo(left * graph.scrollWidth - graph.clientWidth / 2, top * graph.scrollHeight - graph.clientHeight / 2);
    for (const link of document.querySelectorAll('a.same'))
      link.addEventListener('click', () => sessionStorage.setItem('graph', JSON.stringify([(graph.scrollLeft + graph.clientWidth / 2) / graph.scrollWidth, (graph.scrollTop + graph.clientHeight / 2) / graph.scrollHeight])));
  }

  const help = document.getElementById('keys');
  const keys = {
    '/': () => document.getElementById('find')?.focus(),
    j: () => go(1),
    k: () => go(-1),
    '?': () => (help.open ? help.close() : help.showModal()),
  };
  document.addEventListener('keydown', (event) => {
    const { tagName, type } = document.activeElement ?? {};
    const typing = /^(SELECT|TEXTAREA)$/.test(tagName) || (tagName === 'INPUT' && !/^(radio|checkbox)$/.test(type));
    if (!Object.hasOwn(keys, event.key) || event.ctrlKey || event.metaKey || event.altKey || typing) return;
    if (help.open && event.key !== '?') return;
    event.preventDefault();
    keys[event.key]();
  });
}
