/** The live page of the local service in a real browser. */
import { writeFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { finish, json, replayFile, run } from '../commands/conv/support.ts';
import {
  expectAccessible,
  hasChromium,
  HOSTILE,
  look,
  LOOKS,
  startChromium,
  type Browser,
} from '../support/page.ts';
import { startRaw, untilTestEnds } from '../support/server.ts';
import { until } from '../support/test-clock.ts';
import { createWorld, type World } from '../support/world.ts';

let world: World;
let tests = 0;
beforeAll(async () => {
  world = await createWorld({ spec: 'process' });
});
beforeEach(() => void (tests += 1));
afterAll(() => world.close());

const edit = (members: Record<string, unknown>) => ({
  action: 'edit',
  args: { impl_source: 'oh_aci', ...members },
});

const releaseOf = (name: string) => path.join(world.dir, `${name}-${tests}`);
/** A command that runs until the test releases it. */
const held = (name: string) =>
  run(`while [ ! -e ${releaseOf(name)} ]; do sleep 0.05; done; echo ${name}`);
const release = (name: string) => writeFile(releaseOf(name), '');
const NEVER = run('sleep 600');

/** Starts a run of these steps in the sandbox of all, and returns its id while it continues. */
async function start(
  steps: Record<string, unknown>[],
  message = 'Do it.',
  place = ['--sandbox', world.sandbox ?? ''],
): Promise<string> {
  const file = await replayFile(world, `run-${tests}.json`, steps);
  const words = ['conv', 'new', message, '--no-repo', '--replay', file, '--json', ...place];
  const { code, out, err } = await world.acs(...words);
  if (code !== 0) throw new Error(err);
  return json({ out }).id;
}

/** In a sandbox whose changes are those of this run. */
const startAlone = (steps: Record<string, unknown>[], message?: string) =>
  start(steps, message, []);

async function address(id: string, ...flags: string[]): Promise<string> {
  const { out } = await world.acs('conv', 'open', id, ...flags);
  return out.trim();
}

async function ended(id: string): Promise<void> {
  expect((await world.acs('conv', 'wait', id)).err).not.toContain('error:');
}

/** Forwards connections to the service, and cuts those that are open. */
async function cuttingProxy(target: string) {
  const onward: net.Socket[] = [];
  let isRefusing = false;
  const proxy = await untilTestEnds(
    startRaw((socket) => {
      if (isRefusing) return socket.destroy();
      const far = net.connect(Number(new URL(target).port), '127.0.0.1');
      onward.push(far.on('error', () => undefined).on('close', () => socket.destroy()));
      socket
        .on('close', () => far.destroy())
        .pipe(far)
        .pipe(socket);
    }),
  );
  const cut = (): void => {
    for (const far of onward) far.destroy();
  };
  return {
    url: proxy.url,
    cut,
    /** From now on connections are cut at once, or forwarded again. */
    refuse(refused: boolean) {
      isRefusing = refused;
      if (refused) cut();
    },
  };
}

describe.runIf(hasChromium)('the live page in Chromium', () => {
  let browser: Browser;
  beforeAll(async () => {
    world.sandbox = (await world.acs('sandbox', 'start', '-q')).out.trim();
    browser = await startChromium();
  });
  afterAll(() => browser.close());

  const textOf = (selector: string) =>
    browser.tab.evaluate<string>(`document.querySelector(${JSON.stringify(selector)}).innerText`);
  const untilText = (selector: string, part: string) =>
    until(async () => (await textOf(selector)).includes(part));
  const stepTexts = () =>
    browser.tab.evaluate<string[]>(
      "[...document.querySelectorAll('#steps > li')].map((each) => each.innerText)",
    );

  /** A step that is not laid out yet has no text. */
  const untilSteps = (areThere: (steps: string[]) => boolean) =>
    until(async () => areThere(await stepTexts()));

  it('shows new steps, the end of the run, the answer and the changes without a reload', async () => {
    const id = await startAlone([
      held('first'),
      edit({ command: 'create', path: 'notes.txt', file_text: 'one\ntwo\n' }),
      held('second'),
      finish('All is done.'),
    ]);
    const url = await address(id);
    await browser.tab.open(url);
    await untilText('#connection', 'Connected.');
    await untilText('#run', 'running');
    expect(await textOf('#steps')).not.toContain('notes.txt');
    expect(await textOf('#answer')).toContain('The agent has not answered the latest message.');
    await browser.tab.evaluate("globalThis.mark = 'the same document'");
    await release('first');
    await untilText('#steps', 'notes.txt');
    await release('second');
    await untilText('#run', 'finished');
    await untilText('#facts', 'finished');
    await untilText('#answer', 'All is done.');
    await untilText('#changes', '1 file changed, lines added: 2, removed: 0');
    expect(await browser.tab.evaluate('globalThis.mark')).toBe('the same document');
    expect(await browser.tab.evaluate('location.search')).toBe('');
    const clean = url.replace(/\?.*/, '');
    expect(browser.tab.requests()).toEqual([clean, expect.stringMatching(/\/live\?after=\d+$/)]);
  });

  it('has the steps, the answer and the changes of the exported page', async () => {
    const id = await startAlone([
      held('go'),
      edit({ command: 'create', path: 'a', file_text: 'x' }),
      run('echo made > by-command.txt'),
      finish('Ok.'),
    ]);
    await browser.tab.open(await address(id));
    await untilText('#connection', 'Connected.');
    await release('go');
    await untilText('#run', 'finished');
    await untilText('#answer', 'Ok.');
    const steps = () => browser.tab.evaluate<string>("document.getElementById('steps').innerHTML");
    const live = await steps();
    await browser.tab.open(await address(id));
    expect(await steps()).toBe(live);
    const exported = (await world.acs('conv', 'export', id, '--as', 'html')).out;
    await browser.tab.evaluate(
      `globalThis.exported = new DOMParser().parseFromString(${JSON.stringify(exported)}, ` +
        `'text/html'); null`,
    );
    // Both are made by git, which here and there prints the ids of blobs in full.
    const partOf = async (page: string, part: string): Promise<string> =>
      (await browser.tab.evaluate<string>(`${page}.getElementById('${part}').innerHTML`)).replace(
        /index ([0-9a-f]{7})[0-9a-f]*\.\.([0-9a-f]{7})[0-9a-f]*/g,
        'index $1..$2',
      );
    for (const part of ['steps', 'answer', 'changes']) {
      expect(await partOf('document', part)).toBe(await partOf('exported', part));
    }
    expect(await textOf('#changes')).toContain('by-command.txt');
  });

  it('runs nothing and requests nothing of hostile text, loaded at once or live', async () => {
    const all = HOSTILE.join('\n').replaceAll('\0', '');
    await writeFile(path.join(world.dir, 'hostile'), all);
    const steps = [
      run(`cat ${path.join(world.dir, 'hostile')}`),
      held('go'),
      run(`cat ${path.join(world.dir, 'hostile')}`),
    ];
    const id = await start([...steps, finish(all)], all);
    await browser.tab.open(await address(id));
    await untilText('#connection', 'Connected.');
    await release('go');
    await untilText('#run', 'finished');
    await untilText('#answer', HOSTILE[0] ?? '');
    expect(await browser.tab.evaluate('globalThis.ran ?? null')).toBeNull();
    const clean = `${world.service.url}/conversations/${id}`;
    expect(browser.tab.requests().map((each) => each.replace(/\?.*/, ''))).toEqual([
      clean,
      `${clean}/live`,
    ]);
    const markup =
      "document.querySelectorAll('img, svg, iframe, link, meta[http-equiv], script').length";
    expect(await browser.tab.evaluate(markup)).toBe(1);
    const text = await browser.tab.evaluate<string>('document.body.textContent');
    for (const part of HOSTILE.slice(0, 7)) expect(text).toContain(part);
  });

  it('has a policy under which inserted markup could neither run nor load nor leave', async () => {
    const id = await start([finish('Ok.')]);
    await ended(id);
    await browser.tab.open(await address(id));
    await untilText('#connection', 'Connected.');
    const before = browser.tab.requests();
    const attack =
      '<img src=x onerror="globalThis.ran = 1"><a href="javascript:globalThis.ran = ' +
      '2">x</a><iframe srcdoc="<script>parent.ran = 3</script>"></iframe>';
    await browser.tab.evaluate(
      `document.getElementById('steps').insertAdjacentHTML('beforeend', ${JSON.stringify(attack)})`,
    );
    await browser.tab.evaluate("document.querySelector('a[href^=javascript]').click()");
    const inline =
      "const script = document.createElement('script'); script.textContent = " +
      "'globalThis.ran = 4'; document.body.append(script);";
    await browser.tab.evaluate(`{ ${inline} }`);
    const out =
      `fetch('http://127.0.0.1:9/', { mode: 'no-cors' }).then(() => 'sent', () ` + `=> 'blocked')`;
    expect(await browser.tab.evaluate(out)).toBe('blocked');
    expect(await browser.tab.evaluate('globalThis.ran ?? null')).toBeNull();
    expect(browser.tab.requests().filter((each) => !each.startsWith('about:'))).toEqual(before);
  });

  it('continues after a cut with the step that follows the last one, and shows none twice', async () => {
    const proxy = await cuttingProxy(world.service.url);
    const names = ['one', 'two'];
    const id = await start([...names.map(held), finish('Ok.')]);
    await browser.tab.open(await address(id, '--base-url', proxy.url));
    for (const name of names) {
      await untilText('#connection', 'Connected.');
      proxy.cut();
      await untilText('#connection', 'Connection lost');
      await release(name);
    }
    await untilText('#run', 'finished');
    await untilText('#answer', 'Ok.');
    await untilSteps((all) =>
      names.every((name) => all.some((each) => each.endsWith(`\n${name}`))),
    );
    const steps = await stepTexts();
    for (const name of names)
      expect(steps.filter((each) => each.endsWith(`\n${name}`))).toHaveLength(1);
    await browser.tab.open(await address(id));
    await untilSteps((all) => isDeepStrictEqual(all, steps));
  });

  it('has no connection while it is hidden, and catches up when it is shown again', async () => {
    const id = await start([held('go'), finish('Ok.')]);
    await browser.tab.open(await address(id));
    await untilText('#connection', 'Connected.');
    const show = (hidden: boolean) =>
      browser.tab.evaluate(
        `Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true ` +
          `}); document.dispatchEvent(new Event('visibilitychange'))`,
      );
    await show(true);
    await release('go');
    await ended(id);
    expect(await textOf('#run')).toContain('running');
    await show(false);
    await untilText('#run', 'finished');
    await untilText('#answer', 'Ok.');
    await untilSteps((all) => all.some((each) => each.includes('Ok.')));
    expect((await stepTexts()).filter((each) => each.includes('Ok.'))).toHaveLength(1);
  });

  it('loads the steps of a long run when it is scrolled to their end, or to find an error', async () => {
    const create = (number: number) =>
      edit({ command: 'create', path: `file-${number}`, file_text: `${number}` });
    const many = Array.from({ length: 120 }, (_, number) => create(number));
    const id = await start([...many, run('exit 3'), finish('Ok.')]);
    await ended(id);
    const count = async () => (await stepTexts()).length;
    const named = async () => {
      const paths =
        "[...document.querySelectorAll('#steps .path')].map((each) => each.textContent)";
      const all = await browser.tab.evaluate<string[]>(paths);
      return all.map((each) => each.replace(/.*file-/, ''));
    };
    for (const load of [
      "document.getElementById('more').scrollIntoView()",
      "document.getElementById('next-error').click()",
      "document.getElementById('newest').click()",
    ]) {
      await browser.tab.open(await address(id));
      await untilText('#connection', 'Connected.');
      const first = await count();
      await browser.tab.evaluate(load);
      await until(() => browser.tab.evaluate("document.getElementById('more') === null"));
      expect(await count()).toBeGreaterThan(first);
      expect(await named()).toEqual(many.map((_, number) => `${number}`));
    }
    await browser.tab.evaluate("document.getElementById('next-error').click()");
    await until(async () =>
      (await browser.tab.evaluate<string>('document.activeElement.innerText')).includes(
        'exit code 3',
      ),
    );
  });

  it('reports the end of the service, and keeps what it shows', async () => {
    const id = await start([finish('Ok.')]);
    await ended(id);
    await browser.tab.open(await address(id));
    await untilText('#connection', 'Connected.');
    await world.service.close('the test ends it');
    await untilText('#connection', 'The local service has ended.');
    expect(await textOf('#answer')).toContain('Ok.');
    await world.restart();
  });

  it('reports that its access has ended when the service was restarted during a cut', async () => {
    const proxy = await cuttingProxy(world.service.url);
    const id = await start([finish('Ok.')]);
    await ended(id);
    await browser.tab.open(await address(id, '--base-url', proxy.url));
    await untilText('#connection', 'Connected.');
    proxy.refuse(true);
    await untilText('#connection', 'Connection lost');
    await world.restart();
    proxy.refuse(false);
    await untilText('#connection', 'Disconnected');
    expect(await textOf('#answer')).toContain('Ok.');
  });

  it('shows the stored events of a paused sandbox, and that it is paused', async () => {
    const id = await startAlone([run('echo kept'), NEVER, finish('Ok.')]);
    await until(async () => (await world.acs('conv', 'events', id)).out.includes('kept'));
    await browser.tab.open(await address(id));
    await untilText('#run', 'running');
    const { sandbox_id: sandbox } = json(await world.acs('conv', 'show', id, '--json'));
    await world.acs('sandbox', 'pause', sandbox ?? '');
    await untilText('#run', 'paused');
    await browser.tab.open(await address(id));
    await untilText('#steps', 'kept');
    await untilText('#run', 'paused');
    const ended = await startAlone([finish('Ok.')]);
    await world.acs('conv', 'wait', ended);
    await browser.tab.open(await address(ended));
    const { sandbox_id: other } = json(await world.acs('conv', 'show', ended, '--json'));
    await world.acs('sandbox', 'pause', other ?? '');
    await untilText('#facts', 'Sandbox\npaused');
    expect(await textOf('#run')).toContain('finished');
  });

  it('opens with a link once: the second use is refused in words', async () => {
    const id = await start([finish('Ok.')]);
    const url = await address(id);
    await browser.tab.open(url);
    await browser.tab.open(url);
    expect(await textOf('main')).toContain(
      'The link was used before, or is older than 60 seconds.',
    );
    expect(await textOf('main')).toContain(`acs conv open ${id}`);
    await browser.tab.open(url.replace(/\?.*/, ''));
    expect(await textOf('#answer')).toContain('Answer');
  });

  it('reaches the newest step with the keyboard', async () => {
    const id = await start([
      ...Array.from({ length: 30 }, (_, number) => run(`seq ${number}`)),
      finish('Ok.'),
    ]);
    await ended(id);
    await look(browser.tab, 'light', 1280);
    await browser.tab.open(await address(id));
    await browser.tab.evaluate("document.getElementById('newest').focus()");
    for (const type of ['keyDown', 'keyUp']) {
      const enter = {
        type,
        key: 'Enter',
        code: 'Enter',
        windowsVirtualKeyCode: 13,
        ...(type === 'keyDown' ? { text: '\r' } : {}),
      };
      await browser.tab.send('Input.dispatchKeyEvent', enter);
    }
    const isVisible =
      '{ const { top, bottom } = ' +
      `document.getElementById('steps').lastElementChild.getBoundingClientRect(); top >= 0 ` +
      '&& bottom <= innerHeight }';
    await until(() => browser.tab.evaluate<boolean>(isVisible));
    expect(await browser.tab.evaluate('scrollY')).toBeGreaterThan(0);
  });

  describe('has no violation of axe and fits its window', () => {
    let id: string;
    beforeAll(async () => {
      const all = HOSTILE.join('\n').replaceAll('\0', '');
      const create = edit({ command: 'create', path: 'a', file_text: all });
      id = await startAlone([create, NEVER], all);
    });

    it.each(LOOKS)('%s, %i pixels wide', async (scheme, width) => {
      await look(browser.tab, scheme, width);
      await browser.tab.open(await address(id));
      await untilText('#connection', 'Connected.');
      await untilText('#steps', 'sleep 600');
      await expectAccessible(browser.tab, scheme);
      await browser.tab.open(`${world.service.url}/conversations/${id}?once=used`);
      await expectAccessible(browser.tab, scheme, 10);
    });
  });
});
