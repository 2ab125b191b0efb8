import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ERRORS_SCRIPT, pageParts } from '../../../src/page/page.ts';
import {
  event,
  expectAccessible,
  hasChromium,
  HOSTILE,
  look,
  LOOKS,
  ran,
  recordOf,
  startChromium,
  textOf,
  type Browser,
} from '../../support/page.ts';
import { until } from '../../support/test-clock.ts';

const pageOf = (parts: Parameters<typeof recordOf>[0]) => textOf(pageParts(recordOf(parts)));

const ALL = HOSTILE.join('\n');
const HOSTILE_MARKDOWN =
  '# \n\n[](http://127.0.0.1:9/)\n\n| | ' +
  '|\n|-|-|\n\n![](http://127.0.0.1:9/x.png)\n\n```"><b>\nx\n```\n';

/** A record with hostile text in every place that a server or an agent fills. */
function hostileRecord() {
  const [before, after] = [`old\n${ALL}\n`, `new\n${ALL}\n`];
  const observation = {
    kind: 'FileEditorObservation',
    path: `/workspace/${ALL}`,
    old_content: before,
    new_content: after,
  };
  return recordOf({
    conversation: {
      title: ALL,
      reason: { code: 'error', text: ALL },
      status: 'failed',
      model: ALL,
      repository: ALL,
      branch: ALL,
      url: `javascript:alert(1)//${ALL}`,
      created_at: `2026-11-22T10:00:00Z${ALL}`,
    },
    events: [
      event(
        'MessageEvent',
        { llm_message: { content: [{ type: 'text', text: ALL }] } },
        { signal: 'message', text: ALL },
      ),
      ...ran(ALL, ALL, 1),
      event('ObservationEvent', { observation }, { text: ALL }),
      event(
        'ActionEvent',
        { action: { kind: ALL }, thought: [{ text: `why ${ALL}` }] },
        { text: ALL },
      ),
      event('AgentErrorEvent', { error: ALL }, { text: ALL }),
      event(
        'ConversationStateUpdateEvent',
        { key: 'execution_status', value: ALL },
        { signal: 'status:other' },
      ),
      event(ALL, {}, { text: ALL, timestamp: ALL, id: ALL, source: ALL }),
    ],
    answer: HOSTILE_MARKDOWN + ALL,
    diff: {
      source: 'edit-events',
      patch: `diff --git a/${HOSTILE[0]} b/${HOSTILE[0]}\n@@ -0,0 +1,1 @@\n+${HOSTILE[1]}\n`,
      files: [{ path: HOSTILE[0] ?? '', status: 'added', added: 1, removed: 0 }],
      omissions: [ALL],
    },
  });
}

describe('the page of a conversation', () => {
  it('has its outcome, cost, answer, steps and changes', async () => {
    const page = await pageOf({
      conversation: {
        cost_usd: 0.0042,
        tokens: { input: 1000, output: 20 },
        created_at: '2026-11-22T09:59:00Z',
        updated_at: '2026-11-22T10:02:18.123456Z',
      },
      events: ran('ls', 'a.txt', 2),
      answer: 'All done.',
      diff: {
        patch: 'diff --git a/a b/a\n--- a/a\n+++ b/a\n@@ -1,1 +1,1 @@\n--- old\n+new\n',
        files: [{ path: 'a', status: 'modified', added: 1, removed: 1 }],
      },
    });
    for (const part of [
      '<h1 id="title">A run</h1>',
      '<strong class="good">finished</strong>',
      '<dd>$0.0042</dd>',
      '<dd>1,000 input, 20 output</dd>',
      '<p>All done.</p>',
      '<time datetime="2026-11-22T09:59:00.000Z">22 Nov 2026, 09:59 UTC</time>',
      '22 Nov 2026, 10:02 UTC</time> (after 3m 18s)',
      '<time datetime="2026-11-22T10:00:00.000000Z">1:00\n+1m 0s</time>',
      '1:00\n+0.0s</time>',
      '<pre>ls</pre>',
      '<strong class="bad">exit code 2</strong>',
      '<span class="r">--- old</span><span class="a">+new</span>',
      '1 file changed, lines added: 1, removed: 1',
    ]) {
      expect(page).toContain(part);
    }
  });

  it('has no cost of a replay and no state that its steps show, and folds a system prompt and a long command', async () => {
    const page = await pageOf({
      conversation: { cost_usd: 0, tokens: { input: 0, output: 0 } },
      events: [
        event(
          'SystemPromptEvent',
          { system_prompt: { type: 'text', text: 'You work.' } },
          { text: 'system prompt' },
        ),
        ...['running', 'paused', 'finished'].map((value) =>
          event(
            'ConversationStateUpdateEvent',
            { key: 'execution_status', value },
            { signal: 'status:other' },
          ),
        ),
        ...ran(`cat > a <<E\n${'line\n'.repeat(20)}E`, 'ok'),
      ],
    });
    expect(page).not.toContain('Cost');
    expect(page).not.toContain('Tokens');
    expect(
      [...page.matchAll(/<li class="(\w+)">.*?<div>(<details>)?/gs)].map(([, ...found]) => found),
    ).toEqual([
      ['other', '<details>'],
      ['status', undefined],
      ['command', '<details>'],
      ['output', undefined],
    ]);
    expect(page).toContain('<pre class="plain">You work.</pre>');
  });

  it.each([
    ['All **done** in `a.ts`.', '<p>All <strong>done</strong> in <code>a.ts</code>.</p>'],
    ['# One\n\n### Three', '<h3>One</h3>\n<h3>Three</h3>'],
    ['| a |\n|--:|\n| 1 |', '<th>a</th>'],
    [
      'see https://a.example/b and a.md',
      '<a href="https://a.example/b">https://a.example/b</a> and a.md',
    ],
    ['<b onclick=x>b</b>', '&lt;b onclick=x&gt;b&lt;/b&gt;'],
    [
      '[a](javascript:x) [b](/c) [d](data:image/png;base64,x)',
      '[a](javascript:x) [b](/c) [d](data:',
    ],
    ['![a](https://a.example/x.png)', '!<a href="https://a.example/x.png">a</a>'],
    ['&#x202e;&#27;', '\\u202e'],
  ])('shows the Markdown of an answer: %s', async (answer, html) => {
    expect(await pageOf({ answer })).toContain(html);
  });

  it('shows what each edit changed, and marks a reconstructed diff', async () => {
    const edit = {
      kind: 'FileEditorObservation',
      path: '/workspace/a.txt',
      old_content: 'one\n',
      new_content: 'two\n',
    };
    const page = await pageOf({
      events: [event('ObservationEvent', { observation: edit })],
      diff: {
        source: 'edit-events',
        omissions: ['reconstructed from edit events; changes made by commands are not included'],
      },
    });
    expect(page).toContain('<span class="r">-one</span><span class="a">+two</span>');
    expect(page).toContain(
      'This diff is reconstructed from edit events; changes made by commands are not included.',
    );
  });

  it('shows a part of a long output, and how much is left out', async () => {
    const page = await pageOf({ events: ran('cat', 'x'.repeat(5_000_000)) });
    expect(page.length).toBeLessThan(50_000);
    expect(page).toContain('4,980,000 more characters are left out of this page.');
  });

  it('has no markup of a server or an agent', async () => {
    const whole = await textOf(pageParts(hostileRecord()));
    const page = whole.replace(`<script>${ERRORS_SCRIPT}</script>`, '');
    expect(page).not.toMatch(
      /<(?:script|img|svg|link|iframe)|javascript:|\u202e|\u0000|\ud800(?![\udc00-\udfff])/u,
    );
    expect(page.match(/<style>/g)).toHaveLength(1);
    expect(page.match(/<meta http-equiv/g)).toHaveLength(1);
  });
});

describe.runIf(hasChromium)('the page in Chromium', () => {
  let folder: string;
  let browser: Browser;
  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'acs-page-'));
    browser = await startChromium();
  });
  afterAll(async () => {
    await browser.close();
    await rm(folder, { recursive: true });
  });

  async function open(page: string): Promise<string> {
    const file = path.join(folder, 'page.html');
    await writeFile(file, page);
    const url = pathToFileURL(file).href;
    await browser.tab.open(url);
    return url;
  }

  const key = async (name: string, code: number, text?: string): Promise<void> => {
    for (const type of ['keyDown', 'keyUp']) {
      const typed = type === 'keyDown' && text !== undefined ? { text } : {};
      await browser.tab.send('Input.dispatchKeyEvent', {
        type,
        key: name,
        code: name,
        windowsVirtualKeyCode: code,
        ...typed,
      });
    }
  };

  it('runs nothing, requests nothing and shows hostile text as text', async () => {
    const url = await open(await textOf(pageParts(hostileRecord())));
    expect(await browser.tab.evaluate('globalThis.ran ?? null')).toBeNull();
    expect(browser.tab.requests()).toEqual([url]);
    const text = await browser.tab.evaluate<string>('document.body.textContent');
    for (const part of HOSTILE.slice(0, 7)) expect(text).toContain(part);
    expect(
      await browser.tab.evaluate(
        "document.querySelectorAll('script, img, svg, iframe, link').length",
      ),
    ).toBe(1);
  });

  it('has a policy under which markup in it could neither run nor load', async () => {
    const page = await pageOf({ answer: 'PLACE' });
    const attack =
      '<script>globalThis.ran = 1</script><img src="data:," onerror="globalThis.ran = ' +
      '2"><img src="http://127.0.0.1:9/">';
    const url = await open(page.replace('PLACE', () => attack));
    expect(await browser.tab.evaluate("document.querySelectorAll('main img').length")).toBe(2);
    expect(await browser.tab.evaluate('globalThis.ran ?? null')).toBeNull();
    expect(browser.tab.requests().filter((each) => !each.startsWith('data:'))).toEqual([url]);
  });

  it.each(LOOKS)(
    'has no violation of axe and fits its window: %s, %i pixels wide',
    async (scheme, width) => {
      await look(browser.tab, scheme, width);
      await open(await textOf(pageParts(hostileRecord())));
      await expectAccessible(browser.tab, scheme);
    },
  );

  it('renders of 5,000 events what is in the window, and the others when it is scrolled to them or they are searched', async () => {
    await look(browser.tab, 'light', 1280);
    const events = Array.from({ length: 2_500 }, (_, at) =>
      ran(`echo ${at}`, `output ${at}`),
    ).flat();
    await open(await pageOf({ events }));
    const rendered = () =>
      browser.tab.evaluate<string[]>(
        "[...document.querySelectorAll('#steps pre')].filter((each) => each.checkVisibility({ " +
          'contentVisibilityAuto: true })).map((each) => each.textContent)',
      );
    const first = await rendered();
    expect(first).toContain('echo 0');
    expect(first.length).toBeLessThan(60);
    expect(await browser.tab.evaluate("document.querySelectorAll('*').length")).toBeLessThan(
      25_000,
    );
    expect(await browser.tab.evaluate("window.find('output 2400')")).toBe(true);
    await until(async () => (await rendered()).includes('output 2400'));
  });

  it('goes to one error after the other, and then to the first one again', async () => {
    await look(browser.tab, 'light', 1280);
    const some = (from: number) =>
      Array.from({ length: 40 }, (_, at) => ran(`echo ${from + at}`, 'x')).flat();
    const events = [...some(0), ...ran('no', 'first', 1), ...some(40), ...ran('no', 'second', 2)];
    await open(await pageOf({ events }));
    const shown: string[] = [];
    for (let clicks = 0; clicks < 3; clicks += 1) {
      await browser.tab.evaluate("document.getElementById('next-error').click()");
      shown.push(await browser.tab.evaluate<string>('document.activeElement.innerText'));
    }
    expect(shown.map((each) => each.split('\n').at(-1))).toEqual(['first', 'second', 'first']);
    const top = 'document.activeElement.getBoundingClientRect().top';
    expect(Math.abs(await browser.tab.evaluate<number>(top))).toBeLessThan(8);
    await open(await pageOf({ events: some(0) }));
    expect(await browser.tab.evaluate("document.getElementById('next-error').hidden")).toBe(true);
  });

  it('is read with the keyboard: a link to the timeline first, and each closed block opens with Enter', async () => {
    await look(browser.tab, 'light', 1280);
    await open(
      await pageOf({
        events: ran('seq 100', Array.from({ length: 100 }, (_, at) => `${at}`).join('\n')),
      }),
    );
    const focused = (expression: string) =>
      browser.tab.evaluate(`document.activeElement.${expression}`);
    await key('Tab', 9);
    expect(await focused("getAttribute('href')")).toBe('#timeline');
    for (let presses = 0; presses < 10 && (await focused('tagName')) !== 'SUMMARY'; presses += 1)
      await key('Tab', 9);
    expect(await focused('parentElement.open')).toBe(false);
    await key('Enter', 13, '\r');
    expect(await focused('parentElement.open')).toBe(true);
    expect(
      await browser.tab.evaluate('getComputedStyle(document.activeElement).outlineStyle'),
    ).toBe('solid');
  });
});
