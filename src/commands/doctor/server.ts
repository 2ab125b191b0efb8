/** Checks of what the server is and has: its release, the key, the model settings, its sandboxes. */
import type { Sandbox } from '../../domain/sandbox.ts';
import { sourceWords } from '../../domain/target-sources.ts';
import { isAppError } from '../../errors.ts';
import type { ServerInfo } from '../../servers/server.ts';
import { checkKey } from '../identity.ts';
import { failed, nextStepOf, type Check, type Finding } from './check.ts';

/** A release below this one has V1 routes that check no key, or none (interface 1.1, 9). */
const OLDEST_MAJOR = 1;
/** What a self-hosted server runs at once with docker and with remote sandboxes (interface 8.2). */
const SELF_HOSTED_LIMITS = { docker: 5, remote: 10 };

const server: Check = {
  id: 'server',
  needs: ['http'],
  async run(subject) {
    let info: ServerInfo;
    try {
      ({ info } = await subject.server());
    } catch (error) {
      if (!isAppError(error) || error.kind !== 'auth') throw error;
      return { status: 'skip', text: 'not known: the server answers only with an accepted key' };
    }
    return { ...judgedRelease(info, subject.machine.acsVersion), data: dataOf(info) };
  },
};

function dataOf({ dialects, version, flavour, unknown_features }: ServerInfo): Record<string, unknown> {
  return { dialects, version, flavour, unknown_features };
}

function judgedRelease({ dialects, version, flavour, unknown_features }: ServerInfo, own: string): Finding {
  const spoken = dialects.map((dialect) => dialect.toUpperCase()).join(' and ');
  if (flavour === 'local') return { status: 'pass', text: `the local service, with ${spoken} (acs ${own})` };
  const name = `OpenHands${version === null ? '' : ` ${version}`}${flavour === null ? '' : ` (${flavour})`}, ${spoken}`;
  if (!dialects.includes('v1') || (version !== null && Number.parseInt(version, 10) < OLDEST_MAJOR)) {
    return {
      status: 'warn',
      text: `${name}: an old release`,
      hint: 'update the server: V0 has no sandboxes of its own',
    };
  }
  if (unknown_features.length > 0) {
    return {
      status: 'warn',
      text: `${name}; what it supports is not known`,
      hint: 'make /openapi.json of the server readable',
    };
  }
  // The cloud has no releases.
  if (version === null && flavour !== 'cloud') {
    return { status: 'warn', text: `${name}; its release is not known`, hint: 'a release of OpenHands states it' };
  }
  return { status: 'pass', text: name };
}

const key: Check = {
  id: 'key',
  needs: ['http'],
  async run(subject) {
    const target = await subject.target();
    try {
      await subject.server();
    } catch (error) {
      if (!isAppError(error)) throw error;
      if (error.kind === 'auth') return failed(error);
      return { status: 'skip', text: 'not checked: server failed', blocks: 'server failed' };
    }
    const { user, email } = await subject.read(checkKey);
    const { key: from } = sourceWords(target);
    if (from === null) return { status: 'pass', text: 'none is used, and the server asks for none' };
    const name = email ?? user;
    return { status: 'pass', text: `the key from ${from} is accepted${name === null ? '' : `, for ${name}`}` };
  },
};

const SETTINGS_HINT = 'acs settings set llm_model=<provider/model> llm_api_key=@<file>';

const model: Check = {
  id: 'model',
  needs: ['server', 'key'],
  async run(subject) {
    const { values, secrets } = await subject.read((server) => server.settings.read());
    const { flavour } = (await subject.server()).info;
    const name = typeof values['llm_model'] === 'string' ? values['llm_model'] : '';
    const keyState = secrets['llm_api_key'] ?? 'unknown';
    const data = { llm_model: name === '' ? null : name, llm_api_key: keyState };
    if (flavour === 'local') {
      return { status: 'skip', text: 'not used: conversations of the local service play replays', data };
    }
    if (name === '') return { status: 'warn', text: 'no model is set', hint: SETTINGS_HINT, data };
    if (keyState === 'unset' && flavour !== 'cloud') {
      const hint = `where the model asks for a key: acs settings set llm_api_key=@<file>`;
      return { status: 'warn', text: `${name}, without a key`, hint, data };
    }
    return { status: 'pass', text: keyState === 'set' ? `${name}, with a key` : name, data };
  },
};

const sandboxes: Check = {
  id: 'sandboxes',
  needs: ['server', 'key'],
  async run(subject) {
    const { info } = await subject.server();
    const all = await subject.sandboxes();
    const running = all.filter(({ status }) => status === 'running' || status === 'starting').length;
    const data = { running, total: all.length };
    const text = `${running} of ${all.length} running`;
    if (info.flavour === 'cloud' || info.flavour === 'local' || running < SELF_HOSTED_LIMITS.docker) {
      return { status: 'pass', text, data };
    }
    const { docker, remote } = SELF_HOSTED_LIMITS;
    return {
      status: 'warn',
      text: `${text}; by default a server pauses the oldest above ${docker} (docker) or ${remote} (remote)`,
      hint: 'pause what is not needed: acs sandbox pause <id>',
      data,
    };
  },
};

const agentServer: Check = {
  id: 'agent-server',
  needs: ['sandboxes'],
  async run(subject) {
    const found = newestRunning(await subject.sandboxes());
    if (found === null) return { status: 'skip', text: 'no sandbox is running' };
    const { id, url } = found;
    const data = { sandbox_id: id, url };
    try {
      await subject.reach.answer(`${url.replace(/\/+$/, '')}/alive`);
    } catch (error) {
      if (!isAppError(error) || error.kind !== 'network') throw error;
      const isElsewhere = subject.reach.isLoopback(url) && !subject.reach.isLoopback(await subject.url());
      const hint = isElsewhere
        ? 'the server names an address of its own machine; set in the server one that clients can reach'
        : nextStepOf(error);
      return { status: 'fail', text: `sandbox ${id}: ${error.message}`, hint, data };
    }
    return { status: 'pass', text: `${new URL(url).origin} of sandbox ${id} answers`, data };
  },
};

function newestRunning(all: readonly Sandbox[]): { id: string; url: string } | null {
  const running = all
    .filter(({ status }) => status === 'running')
    .sort((one, other) => (other.created_at ?? '').localeCompare(one.created_at ?? ''));
  for (const { id, urls } of running) {
    const url = urls.find(({ name }) => name === 'AGENT_SERVER')?.url;
    if (url !== undefined && /^https?:\/\//.test(url) && URL.canParse(url)) return { id, url };
  }
  return null;
}

export const SERVER_CHECKS: readonly Check[] = [server, key, model, sandboxes, agentServer];
