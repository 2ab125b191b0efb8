/**
 * The script of the live page. It inserts what the service has rendered: steps at the end of the timeline, other parts
 * in the place of those with the same id. While the page is hidden it has no connection: a browser allows six to one
 * server, and a hidden page must not keep the service running.
 */
export const LIVE_SCRIPT = `
'use strict';
const find = (id) => document.getElementById(id);
const steps = find('steps');
const say = (text) => { find('connection').textContent = text; };
let after = find('live').dataset.after;
let source = null;
let query = '';
let hasEnded = false;
function addSteps({ data, lastEventId }) {
  const last = steps.lastElementChild;
  const bottom = last === null ? 0 : last.getBoundingClientRect().bottom;
  steps.insertAdjacentHTML('beforeend', data);
  after = lastEventId;
  if (bottom > 0 && bottom <= innerHeight) steps.lastElementChild.scrollIntoView({ block: 'nearest' });
}
function replaceParts({ data }) {
  const parts = document.createElement('template');
  parts.innerHTML = data;
  for (const part of [...parts.content.children]) {
    const old = find(part.id);
    const open = new Set([...old.querySelectorAll('details[open] .path')].map((each) => each.textContent));
    for (const each of part.querySelectorAll('details')) {
      if (open.has(each.querySelector('.path').textContent)) each.open = true;
    }
    if (old.innerHTML !== part.innerHTML) old.replaceWith(part);
  }
  document.title = find('title').textContent;
}
function connect() {
  if (source !== null || hasEnded || document.hidden) return;
  source = new EventSource(location.pathname + '/live?after=' + after + query);
  query = '&again=true';
  source.addEventListener('open', () => say('Live.'));
  source.addEventListener('steps', addSteps);
  source.addEventListener('part', replaceParts);
  source.addEventListener('end', ({ data }) => {
    hasEnded = true;
    source.close();
    say(data);
  });
  source.addEventListener('error', () => {
    if (hasEnded) return;
    say(source.readyState === 2
      ? 'Not updated any more: the access has expired or the service has ended. Open it again with acs conv open.'
      : 'The connection is lost; the browser connects again.');
  });
}
function visibilityChanged() {
  if (!document.hidden) return connect();
  if (source === null || hasEnded) return;
  source.close();
  source = null;
}
document.addEventListener('visibilitychange', visibilityChanged);
find('newest').addEventListener('click', (event) => {
  const last = steps.lastElementChild;
  if (last === null) return;
  event.preventDefault();
  last.scrollIntoView({ block: 'end' });
});
connect();
`;
