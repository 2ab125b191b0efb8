/**
 * A cloud with a scripted automation service. Its records have the members that automation 1.13.1
 * was recorded with; runs that complete, and event triggers, are not recorded.
 */
import { readFileSync } from 'node:fs';
import { beforeEach } from 'vitest';
import { v1Server, type V1Server } from '../../client/support/v1-server.ts';
import { NOT_FOUND, type Asked, type Reply } from '../../support/server.ts';
import { useWorld, type Suite, type SuiteOptions } from '../../support/use-world.ts';

type Members = Record<string, unknown>;

const RECORDED = JSON.parse(
  readFileSync(
    new URL('../../fixtures/recordings/automation-1.13.1.json', import.meta.url),
    'utf8',
  ),
) as Record<string, { status: number; body: Members }>;

export function recorded(name: string): { status: number; json: Members } {
  const found = RECORDED[name];
  if (found === undefined) throw new Error(`no recording ${name}`);
  return { status: found.status, json: found.body };
}

export interface AutomationService {
  /** Oldest first. */
  automations: Members[];
  runs: Members[];
  /** What validate answers for a draft of this name. */
  problems: Record<string, Members[]>;
  gitSync: Members | null;
  v1: V1Server;
  add(members?: Members): Members;
  /** An id of a run. */
  addRun(members?: Members): string;
  /** Called at each list of runs, before the answer. */
  onRuns: () => void;
}

export type AutomationSuite = Suite & { readonly service: AutomationService };

const ROOT = '/api/automation/v1';
const uuid = (number: number) => `${String(number).padStart(8, '0')}-0000-4000-8000-000000000000`;

/** For the enclosing suite. Each test begins without automations. */
export function useAutomations(options: Pick<SuiteOptions, 'clock'> = {}): AutomationSuite {
  let service: AutomationService;
  const script = (asked: Asked) => answer(service, asked);
  const at = useWorld({ ...options, noun: 'automation', configPer: 'test', script });
  beforeEach(() => {
    const v1 = v1Server(() => at.server.url);
    v1.before = ({ path }) =>
      path === '/api/v1/web-client/config' ? { json: { app_mode: 'saas' } } : null;
    service = {
      automations: [],
      runs: [],
      problems: {},
      gitSync: { enabled: false, repo_url: '' },
      v1,
      onRuns: () => undefined,
      add(members = {}) {
        const id = uuid(service.automations.length + 1);
        const record = { ...recorded('automation.create').json, id, ...members };
        service.automations.push(record);
        return record;
      },
      addRun(members = {}) {
        const id = uuid(900 + service.runs.length);
        const run = { ...recorded('automation.dispatch').json, id, ...members };
        service.runs.push(run);
        return id;
      },
    };
  });
  return Object.defineProperty(at, 'service', { get: () => service }) as AutomationSuite;
}

function answer(service: AutomationService, asked: Asked): Reply | Promise<Reply> {
  const { method, path, body } = asked;
  if (!path.startsWith(ROOT)) return service.v1.handler(asked);
  const sent = (body ?? {}) as Members;
  const route = `${method} ${path.slice(ROOT.length)}`;
  if (route === 'GET ') return { json: pageOf(service.automations, 'automations', asked) };
  if (route === 'GET /git-sync/status')
    return service.gitSync === null ? NOT_FOUND : { json: service.gitSync };
  if (route === 'POST /validate') {
    const errors = service.problems[String((sent['draft'] as Members)['name'])] ?? [];
    return { json: { valid: errors.length === 0, errors, sampleEventMatched: null } };
  }
  if (/^POST (\/preset\/(prompt|plugin))?$/.test(route)) return create(service, route, sent);
  const [, id = '', verb = ''] = /^\w+ \/([\w-]{36})(?:\/(\w+))?$/.exec(route) ?? [];
  const cancelled = /^POST \/runs\/([\w-]+)\/cancel$/.exec(route)?.[1];
  if (cancelled !== undefined) return cancel(service, cancelled);
  const found = service.automations.find((each) => each['id'] === id);
  if (found === undefined) return recorded('automation.get.unknown');
  return answerOne(service, found, asked, verb);
}

function answerOne(service: AutomationService, found: Members, asked: Asked, verb: string): Reply {
  switch (`${asked.method} ${verb}`) {
    case 'GET ':
      return { json: found };
    case 'PATCH ':
      return { json: Object.assign(found, asked.body) };
    case 'DELETE ':
      service.automations = service.automations.filter((each) => each !== found);
      return { status: 204, none: true };
    case 'POST dispatch':
      if (found['enabled'] !== true)
        return { status: 409, json: { detail: { message: 'Automation is disabled' } } };
      service.addRun({ automation_id: found['id'] });
      return { status: 201, json: service.runs.at(-1) };
    case 'GET runs':
      service.onRuns();
      return { json: pageOf(service.runs, 'runs', asked) };
    default:
      return NOT_FOUND;
  }
}

function create(service: AutomationService, route: string, body: Members): Reply {
  const { template, repos, plugins, ...members } = body;
  const isOf = ({ preset_metadata: preset }: Members) =>
    template !== undefined &&
    ((preset as Members)['template'] as Members | undefined)?.['id'] ===
      (template as Members)['id'];
  const existing = service.automations.find(isOf);
  if (existing !== undefined) return { json: existing };
  const preset_type = route.split('/')[2];
  const preset_metadata = { preset_type, prompt: body['prompt'], repos, plugins, template };
  return { status: 201, json: service.add({ prompt: null, ...members, preset_metadata }) };
}

function cancel({ runs }: AutomationService, id: string): Reply {
  const run = runs.find((each) => each['id'] === id);
  if (run === undefined) return { status: 404, json: { detail: 'Run not found' } };
  const isOpen = run['status'] === 'PENDING' || run['status'] === 'RUNNING';
  const detail = `Run is ${String(run['status'])}, only PENDING or RUNNING runs can be cancelled`;
  if (!isOpen) return { status: 409, json: { detail } };
  return { json: Object.assign(run, { status: 'CANCELLED', error_detail: 'Cancelled by user' }) };
}

function pageOf(all: readonly Members[], member: string, { query }: Asked): Members {
  const [offset, limit] = [Number(query.get('offset') ?? 0), Number(query.get('limit') ?? 50)];
  return { [member]: all.toReversed().slice(offset, offset + limit), total: all.length };
}
