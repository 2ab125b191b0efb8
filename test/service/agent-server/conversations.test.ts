import { readFileSync, writeFileSync } from 'node:fs';
import { type AddressInfo, type Server, createServer } from 'node:net';
import path from 'node:path';
import Database from 'libsql';
import { afterEach, describe, expect, it } from 'vitest';
import type { ConversationNotice } from '../../../src/service/base/worker-protocol.ts';
import { openEventLog } from '../../../src/service/storage/event-log.ts';
import { hasBubblewrap } from '../../support/bubblewrap.ts';
import type { StoredEvent } from '../../../src/service/storage/conversation-state.ts';
import { openConversation, sandboxOfTest } from './support/shared-sandboxes.ts';
import { ID, outline, outputs, step } from './support/worker.ts';

const sandbox = sandboxOfTest();

let taken: Server | null = null;
afterEach(() => {
  taken?.close();
  taken = null;
});

async function takePort(port: number): Promise<number> {
  const server = createServer();
  taken = server;
  // A port that another process has taken in between serves as well.
  const isTaken = await new Promise<boolean>((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(true);
      else reject(error);
    });
    server.listen(port, '127.0.0.1', () => resolve(false));
  });
  return isTaken ? port : (server.address() as AddressInfo).port;
}

describe('a worker', () => {
  it('accepts each command twice', async () => {
    const worker = await sandbox.start();
    for (const type of ['pause', 'pause', 'resume', 'resume'] as const) await worker.command(type);
    expect((await worker.call('GET', '/alive')).status).toBe(200);
  });

  it('listens on another port when the wanted one is in use, and keeps it while it is paused', async () => {
    const port = await takePort(0);
    const worker = await sandbox.start({ port });
    expect(worker.port).not.toBe(port);
    await worker.command('pause');
    await expect(worker.call('GET', '/alive')).rejects.toThrow();
    taken?.close();
    await takePort(worker.port);
    expect(taken?.listening).toBe(false);
    await worker.command('resume');
    expect((await worker.call('GET', '/alive')).status).toBe(200);
  });

  it('starts with a damaged log, does not change it, and warns', async () => {
    const damaged = path.join(sandbox.place.events, '7f0c2d4e1a3b4c5d8e9fa1b2c3d4e5f7.db');
    writeFileSync(
      damaged,
      'this is no database, and it is long enough to be looked at as one'.repeat(100),
    );
    const worker = await sandbox.start();
    expect(worker.notices.find((notice) => notice.type === 'warning')?.text).toMatch(
      /7f0c2d4e1a3b4c5d8e9fa1b2c3d4e5f7/,
    );
    expect(readFileSync(damaged, 'utf8')).toContain('this is no database');
    expect((await worker.call('GET', '/api/conversations/count')).body).toBe(0);
  });

  it('has the pending action after a restart', async () => {
    let worker = await sandbox.start();
    await worker.startConversation([step.run('echo done > done; cat done'), step.finish()], {
      confirmation_policy: { kind: 'AlwaysConfirm' },
      secrets: { TOKEN: 'hidden' },
    });
    await worker.untilStatus('waiting_for_confirmation');
    await worker.end();
    worker = await sandbox.start();
    expect(await worker.status()).toBe('waiting_for_confirmation');
    const accept = () =>
      worker.call('POST', `/api/conversations/${ID}/events/respond_to_confirmation`, {
        accept: true,
      });
    await Promise.all([accept(), accept()]);
    await worker.untilStatus('finished');
    const events = await worker.events();
    expect(outputs(events)).toEqual(['done']);
    expect(outline(events).filter((word) => word === 'TerminalAction')).toHaveLength(1);
    expect((await worker.call('GET', `/api/conversations/${ID}`)).body).toMatchObject({
      secret_registry: { secret_sources: { TOKEN: { value: null } } },
    });
  });

  it('serves a finished conversation completely after a restart', async () => {
    let worker = await sandbox.start();
    const before = await worker.play([step.run('echo one'), step.finish('End.')]);
    await worker.end();
    worker = await sandbox.start();
    expect(await worker.events()).toEqual(before);
    expect(await worker.status()).toBe('finished');
  });
});

describe('a start with a setup script', () => {
  const notices = (events: StoredEvent[]) =>
    events.flatMap(({ kind, source, llm_message: message }) =>
      kind === 'MessageEvent' && source === 'environment'
        ? (message as { content: { text: string }[] }).content.map(({ text }) => text)
        : [],
    );

  it.runIf(hasBubblewrap)(
    'runs it inside once, before the first step, with variables that last and secrets masked',
    async () => {
      writeFileSync(
        path.join(sandbox.place.workspace, 'setup.sh'),
        'echo x >> ran; export FROM_SETUP=1; echo "token $TOKEN in $PWD"; cd /; return 3',
      );
      const worker = await sandbox.start();
      const events = await worker.play([step.run('cat ran; echo $FROM_SETUP'), step.finish()], {
        setup_script: 'setup.sh',
        secrets: { TOKEN: 'hidden-value-1' },
      });
      expect(outputs(events)).toEqual(['x\n1']);
      expect(outline(events).slice(0, 2)).toEqual(['SystemPromptEvent', 'MessageEvent']);
      expect(notices(events)).toEqual([
        'The setup script setup.sh failed with exit code 3; the run goes on. The end of its ' +
          `output:\ntoken <secret-hidden> in ${worker.workingDir}`,
      ]);
      await worker.end();
      await sandbox.start();
      expect(readFileSync(path.join(sandbox.place.workspace, 'ran'), 'utf8')).toBe('x\n');
    },
  );

  it('does not run it without isolation, and says so', async () => {
    writeFileSync(path.join(sandbox.place.workspace, 'setup.sh'), 'touch ran');
    const worker = await sandbox.start({ spec: 'process' });
    const events = await worker.play([step.run('ls'), step.finish()], { setup_script: 'setup.sh' });
    expect(outputs(events)).toEqual(['setup.sh']);
    expect(notices(events)).toEqual([expect.stringContaining('has no isolation')]);
  });
});

it('a skill is added to the first message of a conversation that has its trigger', () => {
  const conversation = openConversation(sandbox.place.events);
  const skills = [{ name: 'db', triggers: ['database'], text: 'Postgres.' }];
  conversation.setModel({ llm: {}, tools: null, mcp_config: {}, system_prompt: '', skills });
  for (const text of ['hello', 'the database', 'the database again'])
    conversation.addMessage('user', [{ type: 'text', text }]);
  const messages = [...conversation.history()].filter(({ kind }) => kind === 'MessageEvent');
  expect(messages).toMatchObject([
    { activated_skills: [], extended_content: [] },
    { activated_skills: ['db'], extended_content: [{ type: 'text', text: 'Postgres.' }] },
    { activated_skills: [], extended_content: [] },
  ]);
  conversation.close();
});

describe('a run on a full disk', () => {
  it('is in error at once, with nothing half written, and the conversation goes on when the disk has space', () => {
    const file = path.join(sandbox.place.events, 'a.db');
    const log = openEventLog(file);
    const other = new Database(file);
    other.exec(
      "CREATE TRIGGER full BEFORE INSERT ON events BEGIN SELECT RAISE(FAIL, 'database or " +
        "disk is full'); END",
    );
    const notices: ConversationNotice[] = [];
    const conversation = openConversation(sandbox.place.events, log, (notice) =>
      notices.push(notice),
    );
    expect(() => conversation.setStatus('error')).toThrow(/full/);
    conversation.breakOff();
    expect(conversation.state.execution_status).toBe('error');
    expect(notices).toMatchObject([{ execution_status: 'error' }]);
    expect(log.count()).toBe(0);
    other.exec('DROP TRIGGER full');
    other.close();
    conversation.setStatus('idle');
    expect([log.count(), log.read('state')?.execution_status]).toEqual([1, 'idle']);
    log.close();
  });
});
