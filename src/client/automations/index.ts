/** The automation service of a cloud or of a backend (interface 14.4). */
import { AppError } from '../../base/errors.ts';
import { AUTOMATION_ROUTES, blankRun } from '../../domain/automation.ts';
import { normalId } from '../../domain/ids.ts';
import type { Page } from '../../domain/pages.ts';
import { asList, asRecord, optionalNumber, optionalText } from '../../protocol/shape.ts';
import { search } from '../backend/calls.ts';
import { errorBy, isMissingRoute, reasonOf, type Answer } from '../http/answer.ts';
import type { CallOptions } from '../http/call.ts';
import type { ProbeFacts } from '../shared/features.ts';
import { read, type Links } from '../shared/links.ts';
import type { Automations } from '../shared/server.ts';
import { endProgram } from './quirks/surviving-program.ts';
import { readAutomation, readProblems, readRun, statusOf } from './records.ts';

const LIST = '/v1';
const PAGE_MAX = 100;

type Facts = Pick<ProbeFacts, 'dialects' | 'flavour'>;
type SendOptions = Omit<CallOptions, 'path' | 'accept'>;

export function createAutomations(links: Links, facts: Facts): Automations {
  const { request, send, pageOf } = callsOf(links, facts);
  const pathOf = (id: string) => `${LIST}/${encodeURIComponent(id)}`;
  const one = async (id: string, call: SendOptions) =>
    read(await send(`automation ${id}`, pathOf(id), call), readAutomation);
  return {
    list: (page, pageSize) => pageOf(LIST, AUTOMATIONS, page, pageSize),
    get: (id) => one(id, {}),
    async validate({ kind, body: draft }) {
      const body = { endpoint: AUTOMATION_ROUTES[kind], draft };
      const call = { method: 'POST', safe: 'read', body } as const;
      return read(await send('draft', `${LIST}/validate`, call), readProblems);
    },
    async create({ kind, body }) {
      const path = AUTOMATION_ROUTES[kind];
      // With its template an automation that exists is returned unchanged.
      const safe = body['template'] === undefined ? 'once' : 'idempotent';
      return read(await send('route', path, { method: 'POST', safe, body }), readAutomation);
    },
    change: (id, body) => one(id, { method: 'PATCH', safe: 'idempotent', body }),
    async remove(id) {
      const answer = await request(pathOf(id), { method: 'DELETE' });
      if (answer.status === 404 && answer.afterLostTry === undefined)
        throw errorBy(answer, 'not-found', `there is no automation ${id}`);
    },
    async dispatch(id) {
      const path = `${pathOf(id)}/dispatch`;
      return read(await send(`automation ${id}`, path, { method: 'POST' }), readRun);
    },
    runs: (id, page, pageSize) => {
      const reader = { ...RUNS, name: `automation ${id}` };
      return pageOf(`${pathOf(id)}/runs`, reader, page, pageSize);
    },
    async cancel(id) {
      const conversation = isBackend(facts) ? await taggedConversation(links, id) : null;
      const path = `${LIST}/runs/${encodeURIComponent(id)}/cancel`;
      const answer = await request(path, { method: 'POST', safe: 'idempotent' });
      if (answer.status === 404) throw errorBy(answer, 'not-found', `there is no run ${id}`);
      if (answer.status >= 400) {
        const [, ended] = /^Run is ([A-Z]+),/.exec(reasonOf(answer)) ?? [];
        if (ended !== undefined) return { run: blankRun(id, statusOf(ended)), changed: false };
        throw errorBy(answer, 'conflict', `the run is not stopped: ${reasonOf(answer)}`);
      }
      const run = read(answer, readRun);
      if (isBackend(facts)) await endProgram(links, run, conversation);
      return {
        run: { ...run, conversation_id: run.conversation_id ?? conversation },
        changed: true,
      };
    },
    async conversationOf({ id, conversation_id, status }) {
      if (conversation_id !== null) return normalId(conversation_id);
      return isBackend(facts) && status === 'running' ? await taggedConversation(links, id) : null;
    },
    async gitSync() {
      const answer = await request(`${LIST}/git-sync/status`);
      return read(answer, (body) => {
        const record = asRecord(body, 'git sync');
        return record['enabled'] === true ? optionalText(record, 'repo_url', 'git sync') : null;
      });
    },
  };
}

function callsOf(links: Links, facts: Facts) {
  const request = async (path: string, call: SendOptions = {}): Promise<Answer> => {
    if (!isBackend(facts) && facts.flavour !== 'cloud') throw noAutomations();
    const accept = [404, 405, 409, 422];
    const of = { ...call, path: `/api/automation${path}`, mayBeMissing: true, accept };
    const answer = await links.app.request(of);
    if (isMissingRoute(answer))
      throw errorBy(answer, 'unsupported', `no automation service answers at ${path}`, {
        hint: 'give the URL of the ingress; the service there is too old, or does not run',
      });
    return answer;
  };
  const send = async (what: string, path: string, call: SendOptions = {}) => {
    const answer = await request(path, call);
    if (answer.status < 400) return answer;
    if (answer.status === 404) throw errorBy(answer, 'not-found', `there is no ${what}`);
    const kind = answer.status === 409 ? 'conflict' : 'usage';
    throw errorBy(answer, kind, `the server refuses this: ${reasonOf(answer)}`);
  };
  const pageOf = async <T>(
    path: string,
    { name, member, reader }: { name: string; member: string; reader: (item: unknown) => T },
    page: string | null,
    pageSize = PAGE_MAX,
  ): Promise<Page<T>> => {
    const offset = Number(page ?? 0);
    const query = { limit: Math.min(pageSize, PAGE_MAX), offset };
    const answer = await send(name, path, { query });
    return read(answer, (body) => {
      const record = asRecord(body, member);
      const items = asList(record[member], member).map(reader);
      const total = optionalNumber(record, 'total', member) ?? 0;
      const next = offset + items.length;
      return { items, next: items.length > 0 && next < total ? String(next) : null };
    });
  };
  return { request, send, pageOf };
}

/** The service stores the conversation at the end of its run; its tags have the run before. */
async function taggedConversation(links: Links, runId: string): Promise<string | null> {
  const { items } = await search(links, { pageSize: 20 }, null);
  const own = items.find(({ tags }) => tags['automationrunid'] === runId);
  return own === undefined ? null : normalId(own.id);
}

function isBackend({ dialects }: Facts): boolean {
  return dialects.includes('agent');
}

function noAutomations(): AppError {
  const message =
    'this server has no automations: backends of Agent Canvas and the cloud have them';
  return new AppError('unsupported', message, {
    hint: 'let cron run acs instead: 0 3 * * * acs conv new --wait -F prompt.txt',
  });
}

const AUTOMATIONS = { name: 'list', member: 'automations', reader: readAutomation };
const RUNS = { member: 'runs', reader: readRun };
