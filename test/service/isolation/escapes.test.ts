/**
 * What a model may try: each row is a command that it gives to its terminal, and what it gets to
 * see.
 */
import { execFileSync } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chooseLimits } from '../../../src/service/isolation/limits.ts';
import { AGENT_ROUTES } from '../../../src/service/agent-server/app.ts';
import { APP_ROUTES } from '../../../src/service/app/app.ts';
import type { RouteDeclaration } from '../../../src/service/http/route.ts';
import { type ScriptedModel, startModel } from '../../genuine/model.ts';
import { startSandbox } from '../../commands/sandbox/support.ts';
import { hasBubblewrap } from '../../support/bubblewrap.ts';
import { createWorld } from '../../support/world.ts';
import {
  ID,
  KEY,
  makePlace,
  message,
  type Place,
  removePlace,
  startTestWorker,
  type TestWorker,
  until,
} from '../agent-server/support/worker.ts';

const MODEL_KEY = 'sk-key-of-the-model';
const PRIVATE = 'private-text-of-the-user';
/** In the command line of what a command leaves behind. */
const LEFT = `left${process.pid}`;
/** The numbers of system calls. */
const [KEYCTL, INOTIFY_INIT1] = process.arch === 'x64' ? [250, 294] : [219, 26];
const { limits } = await chooseLimits(
  { sandboxMemory: 512 * 2 ** 20, sandboxProcesses: 64 },
  process.env,
  hasBubblewrap,
);

interface Host {
  place: Place;
  /** Another sandbox. */
  other: Place;
  home: string;
  /** Listens on the loopback, and on an abstract socket of this name. */
  port: number;
  abstract: string;
  workerPid: number;
}

/** The command and what its output matches. */
type Row = [title: string, command: (host: Host) => string, expected: RegExp];

const times = (count: number, text: string): RegExp =>
  new RegExp(`^([^\\n]*${text}[^\\n]*(\\n|$)){${count}}$`);

const ROWS: Row[] = [
  [
    'reads files of the user and of the service',
    ({ home, place, other }) =>
      `cat ${home}/.ssh/id ${home}/.aws/credentials ~/.ssh/id; ls ${home} ${place.events} ` +
      `${other.workspace}`,
    times(6, 'No such file or directory'),
  ],
  [
    'reads keys of the system',
    () => 'cat /etc/shadow; ls /etc/ssl/private /etc/pki/tls/private',
    times(3, 'No such file'),
  ],
  [
    'reads the environment and the arguments of every process',
    () => 'cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr "\\0" "\\n" | grep -c .',
    /^\d+$/,
  ],
  [
    'finds a variable of an agent or a display',
    () => 'env | grep -E "^(SSH_|GPG_|DBUS_|DISPLAY|XAUTH|WAYLAND|AWS_|ACS_API)"; echo searched',
    /^searched$/,
  ],
  [
    'reads a file that the service has inherited',
    () => 'ls -l /proc/[0-9]*/fd | grep inherited; cat <&3',
    /Bad file descriptor$/,
  ],
  [
    'signals and traces processes of the host',
    ({ workerPid }) =>
      `kill -9 ${process.pid}; kill -STOP ${workerPid}; cat /proc/${workerPid}/mem; ls -d ` +
      '/proc/[0-9]* | wc -l',
    /^(.*No such (process|file).*\n){3}\d$/,
  ],
  [
    'writes outside of the workspace',
    ({ other, home }) =>
      `for f in /x /etc/x /usr/x /dev/x; do touch $f; done; touch ${other.workspace}/x ` +
      `${home}/x; touch /tmp/${LEFT}`,
    /^(.*Read-only file system\n){4}(.*No such file or directory\n?){2}$/,
  ],
  [
    'writes a setting of the kernel, also in namespaces of its own',
    () =>
      'set="echo x > /proc/sys/kernel/core_pattern"; sh -c "$set"; unshare --user --mount ' +
      '--pid --fork sh -c "$set"',
    times(2, '(Permission denied|Read-only file system)'),
  ],
  [
    'makes a namespace to mount the cgroup of the service',
    () => 'unshare --user --cgroup true',
    /No space left on device/,
  ],
  [
    'uses up the inotify instances of the user',
    () => `perl -e 'for (1..100) { if (syscall(${INOTIFY_INIT1}, 0) < 0) { print $!; exit } }'`,
    /^Too many open files$/,
  ],
  [
    'has a privilege, or gets one from a program',
    () => 'grep -E "NoNewPrivs|Cap(Eff|Prm|Bnd)" /proc/self/status | tr -d "\\t"',
    /^CapPrm:0+\nCapEff:0+\nCapBnd:0+\nNoNewPrivs:1$/,
  ],
  [
    'types on the terminal of the service',
    () => 'echo reboot > /dev/tty',
    /No such device or address/,
  ],
  [
    'sees devices',
    () => 'ls /sys /dev/mem /dev/kmsg /dev/fuse /run/user /var/run',
    times(6, 'No such file'),
  ],
  [
    'reaches the host of a virtual machine',
    () => `perl -e 'socket(S, 40, 1, 0) or print $!'`,
    /not implemented/,
  ],
  [
    'reads keys of the session of the user',
    () => `perl -e 'syscall(${KEYCTL}, 0, -3, 0) < 0 and print $!'`,
    /not implemented/,
  ],
  [
    'follows a link out of the workspace',
    ({ place, home }) =>
      `ln -s ${place.events} logs; ln -s ${home}/.ssh/id key; ln -s ${place.dir}/written ` +
      'out; cat logs/* key; echo x > out',
    times(3, 'No such file or directory'),
  ],
];

const OFFLINE: Row[] = [
  ['has a route', () => 'tail -n +2 /proc/net/route | wc -l', /^0$/],
  [
    'reaches a port or an abstract socket of the host',
    ({ port, abstract }) =>
      `node -e 'for (const to of [{ port: ${port}, host: "127.0.0.1" }, { path: "\\0${abstract}" }])
        require("net").connect(to).on("connect", () => console.log("open")).on("error", (e) => console.log(e.code))'`,
    times(2, 'ECONNREFUSED'),
  ],
];

describe.runIf(hasBubblewrap).each(['bubblewrap', 'bubblewrap-offline'] as const)(
  'a model with the spec %s',
  (spec) => {
    let model: ScriptedModel;
    let worker: TestWorker;
    let host: Host;
    const servers: Server[] = [];

    beforeAll(async () => {
      model = await startModel('/nowhere');
      const [place, other] = [makePlace(), makePlace()];
      const home = path.join(place.dir, 'home');
      for (const folder of ['.ssh', '.aws'])
        mkdirSync(path.join(home, folder), { recursive: true });
      for (const file of ['.ssh/id', '.aws/credentials', 'inherited'])
        writeFileSync(path.join(home, file), PRIVATE);
      const abstract = path.basename(place.dir);
      for (const at of [{ port: 0, host: '127.0.0.1' }, { path: `\0${abstract}` }]) {
        const server = createServer((socket) => socket.destroy());
        await new Promise<void>((resolve) => server.listen(at, resolve));
        servers.push(server);
      }
      const inherited = openSync(path.join(home, 'inherited'), 'r');
      const agents = {
        SSH_AUTH_SOCK: '/x',
        GPG_AGENT_INFO: '/x',
        DBUS_SESSION_BUS_ADDRESS: 'unix:path=/x',
        DISPLAY: ':0',
      };
      worker = await startTestWorker(place, {
        spec,
        limits,
        inherited: [inherited],
        env: { HOME: home, ACS_API_KEY: PRIVATE, AWS_SECRET_ACCESS_KEY: PRIVATE, ...agents },
      });
      closeSync(inherited);
      const { port } = servers[0]?.address() as AddressInfo;
      host = { place, other, home, port, abstract, workerPid: worker.child.pid ?? 0 };
      await worker.startConversation(null, {
        initial_message: message('QUICK'),
        agent: {
          llm: { model: 'openai/gpt-4o', api_key: MODEL_KEY, base_url: model.url, num_retries: 0 },
        },
        secrets: { TOKEN: 'secret-of-the-conversation' },
      });
      await worker.untilStatus('finished');
    });
    afterAll(async () => {
      await worker.end();
      for (const server of servers) server.close();
      for (const place of [host.place, host.other]) removePlace(place);
      await model.close();
    });

    /** The observations of these calls of a tool. */
    async function use(...calls: object[]): Promise<Record<string, unknown>[]> {
      const before = (await worker.events()).length;
      await worker.call(
        'POST',
        `/api/conversations/${ID}/events`,
        message(`COMMANDS ${JSON.stringify(calls)}`),
      );
      await worker.untilStatus('finished');
      const observations = (await worker.events())
        .slice(before)
        .map((event) => event['observation']);
      return observations.filter((each) => each !== undefined).slice(0, -1) as Record<
        string,
        unknown
      >[];
    }

    const textOf = (observation: Record<string, unknown> | undefined): string =>
      (observation?.['content'] as { text: string }[] | undefined)?.[0]?.text ?? '';

    /** The output as it was before secrets are masked. */
    async function output(command: string): Promise<string> {
      // Base64 alone is masked too.
      const [observation] = await use({
        command: `{ ${command}\n} 2>&1 | base64 -w0 | tr A-Za-z a-zA-Z`,
      });
      const base64 = textOf(observation).replace(/[a-z]/gi, (letter) =>
        letter < 'a' ? letter.toLowerCase() : letter.toUpperCase(),
      );
      return Buffer.from(base64, 'base64').toString('utf8').trimEnd();
    }

    it.each(spec === 'bubblewrap' ? ROWS : [...ROWS, ...OFFLINE])(
      'gets nothing that %s',
      async (_, command, expected) => {
        const text = await output(command(host));
        expect(text).toMatch(expected);
        for (const secret of [KEY, MODEL_KEY, PRIVATE]) expect(text).not.toContain(secret);
        expect(existsSync(path.join(tmpdir(), LEFT))).toBe(false);
        expect(readdirSync(host.other.workspace)).toEqual([]);
      },
    );

    it('gets the secrets of its conversation, and not the key of its model', async () => {
      expect(
        await output('cat /proc/[0-9]*/environ | tr "\\0" "\\n" | grep -o "TOKEN=.*\\|api_key.*"'),
      ).toMatch(/^(TOKEN=secret-of-the-conversation\n?)+$/);
      const log = readFileSync(
        path.join(host.place.events, `${ID.replaceAll('-', '')}.db-wal`),
        'latin1',
      );
      expect(log).toContain(MODEL_KEY);
    });

    it('follows no link of the workspace to the host with the editor and the file routes', async () => {
      const inside = (name: string): string => `${worker.workingDir}/${name}`;
      await use({
        command: `ln -sf ${host.home}/.ssh/id key; ln -sfn ${host.home} home; ln -sfn /etc etc`,
      });
      const edits = await use(
        { command: 'view', path: inside('key') },
        { command: 'create', path: inside('home/x'), file_text: 'x' },
        { command: 'create', path: inside('etc/x'), file_text: 'x' },
      );
      expect(edits.map((edit) => [edit['is_error'], textOf(edit).includes(PRIVATE)])).toEqual(
        Array.from({ length: 3 }, () => [true, false]),
      );
      for (const name of ['key', 'home/.ssh/id']) {
        expect((await worker.call('GET', `/api/file/download?path=${inside(name)}`)).status).toBe(
          404,
        );
      }
      const form = new FormData();
      form.append('file', new Blob(['x']), 'x');
      const url = `http://127.0.0.1:${worker.port}/api/file/upload?path=${inside('home/x')}`;
      const sent = await fetch(url, {
        method: 'POST',
        body: form,
        headers: { 'X-Session-API-Key': KEY },
      });
      expect(sent.status).toBe(400);
      expect(readdirSync(host.home).sort()).toEqual(['.aws', '.ssh', 'inherited']);
    });

    it('writes a configuration of git whose commands no process of the host runs', async () => {
      const ran = path.join(tmpdir(), LEFT);
      const program =
        `git config core.fsmonitor "touch ${ran}"; git config diff.external "touch ${ran}"; ` +
        `git config diff.x.textconv "touch ${ran}; cat"; git config filter.x.clean "touch ` +
        `${ran}; cat"`;
      const attributes =
        'echo "* diff=x filter=x" > .gitattributes; printf "#!/bin/sh\\ntouch %s" $f > ' +
        '.git/hooks/post-index-change';
      await use({
        command:
          'git init -q r && cd r && echo a > a && git add a && git commit -qm a; ' +
          `${program}; ${attributes}; echo b > a; cd ..`,
      });
      const repository = `${worker.workingDir}/r`;
      const archive = await worker.call('GET', `/api/file/archive?path=${repository}&ref=HEAD`);
      expect(archive.body).toContain('+b');
      for (const route of [`changes?path=${repository}`, `diff?path=${repository}/a`]) {
        expect((await worker.call('GET', `/api/git/${route}`)).status).toBe(200);
      }
      expect(existsSync(ran)).toBe(false);
    });

    const TIMED_OUT = {
      exit_code: -1,
      timeout: true,
      metadata: { suffix: expect.stringContaining('ran longer than its time limit') as string },
    };
    const BOMB =
      `const fill = () => { const child = require('child_process').spawn('sleep', ['600'], ` +
      `{ stdio: 'ignore' }); child.once('error', () => { ` +
      `require('fs').writeFileSync('full', ''); setTimeout(fill, 5); }).once('spawn', ` +
      'fill); }; setTimeout(fill, 300)';

    it.runIf(limits.processes !== null)(
      'that starts processes without end has all of them ended, and goes on',
      async () => {
        const fill = `node -e "${BOMB}" > /dev/null 2>&1 & echo begun`;
        const [bomb] = await use(
          { command: 'b() { b | b & wait; }; b', timeout: 2 },
          { command: fill },
        );
        await until('it is full', () => existsSync(path.join(host.place.workspace, 'full')));
        const [ended, after] = await use({ command: 'true' }, { command: 'echo works' });
        expect(bomb).toMatchObject(TIMED_OUT);
        expect(textOf(after)).toBe('works');
        expect(textOf(ended)).toMatch(
          /^Everything in the sandbox was ended .*reached its limit of processes/,
        );
      },
    );

    it
      .runIf(limits.memory !== null && limits.temporary !== null)
      .each<[string, string, object, RegExp]>([
        [
          'prints without end',
          'yes',
          TIMED_OUT,
          /^y\n[^]{14998}\n\[\.\.\. \d+ characters of output left out/,
        ],
        [
          'ignores SIGTERM in a session of its own',
          `setsid nohup sh -c 'trap "" TERM HUP; while :; do sleep 0.1; done' ${LEFT} & wait`,
          TIMED_OUT,
          /^$/,
        ],
        [
          'needs memory without end',
          'node -e "Buffer.alloc(2 ** 30, 1)"',
          { exit_code: 1 },
          /allocation failed/,
        ],
        [
          'writes a file without end',
          'cat /dev/zero > /tmp/large',
          { exit_code: 1 },
          /No space left on device/,
        ],
      ])('that %s is ended within its limits, and goes on', async (_, command, expected, text) => {
      const [observation, after] = await use(
        { command, timeout: 2 },
        { command: 'rm -f /tmp/large; echo works' },
      );
      expect(observation).toMatchObject(expected);
      expect(textOf(observation)).toMatch(text);
      expect(textOf(after)).toBe('works');
      const running = execFileSync('ps', ['-A', '-o', 'args='], { encoding: 'utf8' });
      expect(running).not.toContain(LEFT);
    });

    it('leaves no process when its sandbox ends', async () => {
      await use({
        command:
          `env -i setsid sh -c 'trap "" TERM HUP; while :; do sleep 0.1; done' ${LEFT} > ` +
          '/dev/null 2>&1 &',
      });
      const isRunning = (): boolean =>
        execFileSync('ps', ['-A', '-o', 'args='], { encoding: 'utf8' }).includes(LEFT);
      expect(isRunning()).toBe(true);
      await worker.end();
      await until('it has ended', () => !isRunning());
    });
  },
);

/** Prints the routes, lines on stdin of a method and a URL, that are not answered with 401. */
const ASK = `
  const lines = require('fs').readFileSync(0, 'utf8').trim().split('\\n');
  const ask = async (line) => {
    const [method, url] = line.split(' ');
    const headers = { Cookie: 'acs-page=x', 'Content-Type': 'application/json' };
    const { status } = await fetch(url, { method, headers, redirect: 'manual', body: method === 'GET' ? undefined : '{}' });
    return [line, status];
  };
  Promise.all(lines.map(ask)).then((all) => console.log(JSON.stringify(all.filter(([, status]) => status !== 401))));`;

it.runIf(hasBubblewrap)(
  'a command reaches the service and another sandbox, and gets nothing without a key',
  async () => {
    const world = await createWorld({ spec: 'bubblewrap' });
    try {
      const { out } = await world.acs(
        'conv',
        'new',
        '--replay',
        'demo',
        '--no-repo',
        '--wait',
        '--json',
      );
      const { id } = JSON.parse(out) as { id: string };
      const headers = { 'X-Session-API-Key': world.service.key };
      const found = await fetch(`${world.service.url}/api/v1/sandboxes/search`, { headers });
      const [, port = ''] = /"port":(\d+)/.exec(await found.text()) ?? [];
      const own = await startSandbox(world);
      const at = (
        base: string,
        routes: readonly RouteDeclaration[],
      ): [string, RouteDeclaration][] =>
        routes.map((route) => [
          `${route.method} ${base}${route.path.replace(/\{[^}]*\}/g, id)}`,
          route,
        ]);
      const asked = new Map([
        ...at(world.service.url, APP_ROUTES),
        ...at(`http://127.0.0.1:${port}`, AGENT_ROUTES),
      ]);
      const args = ['sandbox', 'exec', '-i', own, '--', 'node', '-e', ASK];
      const {
        code,
        out: answered,
        err,
      } = await world.invoke({ args, stdin: [...asked.keys()].join('\n') });
      expect(code, err).toBe(0);
      const answers = (JSON.parse(answered) as [string, number][]).map(([line, status]) => {
        const { method, path: at = line, access } = asked.get(line) ?? {};
        return { route: `${method} ${at}`, access, status };
      });
      expect(answers.filter(({ access }) => access === undefined)).toEqual([]);
      // That it was reached; a page needs a link or a cookie.
      expect(answers).toContainEqual({ route: 'GET /alive', access: 'open', status: 200 });
      expect(
        answers.filter(({ access, status }) => access === 'pageCookie' && status === 200),
      ).toEqual([]);
    } finally {
      await world.close();
    }
  },
);
