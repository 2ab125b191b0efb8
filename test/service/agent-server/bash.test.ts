import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { useSharedWorker } from './support/shared-sandboxes.ts';
import { KEY, type OwnWorker, startOwnWorker, step, until } from './support/worker.ts';

const shared = useSharedWorker([step.finish()]);
const { get, post } = shared;

describe('commands', () => {
  it('return the exit code and both outputs', async () => {
    const { body } = await post('/api/bash/execute_bash_command', {
      command: 'echo out; echo err >&2; exit 3',
    });
    expect(body).toMatchObject({
      order: 0,
      exit_code: 3,
      stdout: 'out\n',
      stderr: 'err\n',
      kind: 'BashOutput',
    });
    expect(body).toMatchObject({ id: expect.stringMatching(/^[0-9a-f]{32}$/) as string });
  });

  it('a timeout other than a whole number of seconds is refused with 422 as on genuine servers', async () => {
    for (const route of ['execute_bash_command', 'start_bash_command']) {
      expect(await post(`/api/bash/${route}`, { command: 'true', timeout: 1.5 })).toMatchObject({
        status: 422,
        body: { detail: [{ type: 'int_from_float', loc: ['body', 'timeout'] }] },
      });
    }
  });

  it('end at their timeout', async () => {
    const { body } = await post('/api/bash/execute_bash_command', {
      command: 'echo x; sleep 1000',
      timeout: 3,
    });
    expect(body).toMatchObject({ exit_code: -1, stdout: 'x\n', stderr: null });
  });

  it('run with a timeout above the limit of a Node timer', async () => {
    for (const timeout of [2_147_484, 4_294_968, Number.MAX_SAFE_INTEGER]) {
      const { body } = await post('/api/bash/execute_bash_command', {
        command: 'sleep 0.4; echo x',
        timeout,
      });
      expect([timeout, body]).toMatchObject([timeout, { exit_code: 0, stdout: 'x\n' }]);
    }
  });

  it('in a missing folder do not run', async () => {
    const { body } = await post('/api/bash/execute_bash_command', {
      command: 'pwd',
      cwd: '/no/such',
    });
    expect(body).toMatchObject({
      exit_code: -1,
      stdout: null,
      stderr: 'No such directory: /no/such',
    });
  });

  it('in the background return their output at the end, and a large one in parts', async () => {
    const command =
      'for i in 1 2 3; do head -c 700000 /dev/zero | tr "\\0" x; sleep 0.1; done; exit 4';
    const { body } = await post('/api/bash/start_bash_command', { command });
    expect(body).toMatchObject({ command, cwd: null, timeout: 300, kind: 'BashCommand' });
    const { id } = body as { id: string };
    const pieces = await until('the last piece', async () => {
      const found = await get(
        `/api/bash/bash_events/search?command_id__eq=${id}&kind__eq=BashOutput`,
      );
      const { items } = found.body as {
        items: { exit_code: number | null; stdout: string | null; order: number }[];
      };
      return items.at(-1)?.exit_code == null ? null : items;
    });
    expect(pieces.length).toBeGreaterThan(1);
    expect(pieces.map((piece) => piece.stdout ?? '').join('') === 'x'.repeat(2_100_000)).toBe(true);
    expect(pieces.map((piece) => piece.order)).toEqual(pieces.map((_, index) => index));
    expect(pieces.map((piece) => piece.exit_code)).toEqual([...pieces.slice(1).map(() => null), 4]);
    const rest = await get(
      `/api/bash/bash_events/search?command_id__eq=${id}&kind__eq=BashOutput&order__gt=0`,
    );
    expect((rest.body as { items: unknown[] }).items).toHaveLength(pieces.length - 1);
  });

  it('that print many control characters, which are longest in JSON, do not end other commands', async () => {
    const other = await post('/api/bash/start_bash_command', {
      command: 'while ! test -e on; do sleep 0.02; done',
    });
    const print = "head -c 9400000 /dev/zero | tr '\\0' '\\1'";
    const command = `${print}; ${print} >&2`;
    const { body } = await post('/api/bash/start_bash_command', { command });
    const last = (id: string) => async () => {
      const found = await get(
        `/api/bash/bash_events/search?command_id__eq=${id}&sort_order=TIMESTAMP_DESC&limit=1`,
      );
      const [item] = (found.body as { items: { exit_code?: number | null }[] }).items;
      return typeof item?.exit_code === 'number' ? item : null;
    };
    expect(await until('its end', last((body as { id: string }).id))).toMatchObject({
      exit_code: 0,
    });
    await post('/api/bash/execute_bash_command', { command: 'touch on' });
    expect(
      await until('the end of the other', last((other.body as { id: string }).id)),
    ).toMatchObject({
      exit_code: 0,
    });
  });

  it('that are nested deeply are refused', async () => {
    const deep = `${'{"command":'.repeat(20_000)}1${'}'.repeat(20_000)}`;
    expect((await post('/api/bash/execute_bash_command', deep)).status).toBe(422);
  });

  it('are refused without a command', async () => {
    expect(await post('/api/bash/execute_bash_command', {})).toMatchObject({
      status: 422,
      body: { detail: [{ type: 'missing', loc: ['body', 'command'] }] },
    });
  });

  it('longer than the limit of the system for one argument run', async () => {
    const { body } = await post('/api/bash/execute_bash_command', {
      command: `: ${'x'.repeat(300_000)}\necho end`,
    });
    expect(body).toMatchObject({ exit_code: 0, stdout: 'end\n' });
  });
});

describe('the socket of commands', () => {
  let worker: OwnWorker;
  beforeAll(async () => {
    worker = await startOwnWorker({ spec: 'process' });
  });
  afterAll(() => worker.close());

  it('sends stored events, then new ones', async () => {
    await worker.call('POST', '/api/bash/execute_bash_command', { command: 'echo before' });
    const socket = worker.socket('/sockets/bash-events?resend_mode=all', {
      'X-Session-API-Key': KEY,
    });
    await until('what was', () => socket.frames.length === 2);
    await worker.call('POST', '/api/bash/execute_bash_command', { command: 'echo after' });
    await until('what comes', () => socket.frames.length === 4);
    expect(socket.frames.map((frame) => frame['command'] ?? frame['stdout'])).toEqual([
      'echo before',
      'before\n',
      'echo after',
      'after\n',
    ]);
    socket.client.terminate();
  });
});
