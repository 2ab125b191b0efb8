import type { FaultRule } from './schema.ts';

/** Which rule hits a request. Counts, so it is called once for each request. */
export interface FaultRules {
  next(request: MetRequest): FaultRule | null;
}

export interface MetRequest {
  method: string;
  /** Without the query. */
  path: string;
  /** It is the upgrade to a web socket. */
  isSocket: boolean;
}

/**
 * The first rule that hits decides, and those below it do not see that request: so rules one below the other are a
 * sequence.
 * @param rules of one server
 * @param log takes a line for each request that is hit
 */
export function createFaultRules(rules: readonly FaultRule[], log: (line: string) => void): FaultRules {
  const all = rules.map((rule) => ({ rule, pattern: patternOf(rule.path), seen: 0, hits: 0 }));
  return {
    next(request) {
      for (const each of all) {
        const { rule, pattern } = each;
        if (!matches(rule, pattern, request)) continue;
        each.seen += 1;
        const since = each.seen - rule.after;
        if (since < 1 || since % rule.every !== 0 || each.hits >= (rule.times ?? Infinity)) continue;
        each.hits += 1;
        log(`fault: ${request.method} ${request.path} met ${rule.name}: ${effectOf(rule)}`);
        return rule;
      }
      return null;
    },
  };
}

function matches(rule: FaultRule, pattern: RegExp, { method, path, isSocket }: MetRequest): boolean {
  if (rule.methods.length > 0 && !rule.methods.includes(method)) return false;
  if (rule.cut === 'after-frames' && !isSocket) return false;
  return pattern.test(path);
}

/** A `**` at the end takes the folder before it as well. */
function patternOf(path: string): RegExp {
  const escaped = path.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
  const source = escaped
    .replace(/\/\*\*$/, '(?:/.{0,})?')
    .replaceAll('**', '.{0,}')
    .replaceAll('*', '[^/]{0,}');
  return new RegExp(`^${source}$`, 's');
}

function effectOf(rule: FaultRule): string {
  const parts = [
    rule.latencyMs > 0 ? `${rule.latencyMs} ms late` : '',
    rule.status === null ? '' : `status ${rule.status}`,
    rule.body === null ? '' : 'another body',
    Object.keys(rule.headers).length > 0 ? 'other headers' : '',
    rule.contentType !== null && rule.body === null ? 'another content type' : '',
    rule.cut === null
      ? ''
      : `cut ${rule.cut.replace('-', ' ')}${rule.cut === 'after-frames' ? ` (${rule.frames})` : ''}`,
    rule.delivered ? '' : 'not delivered',
  ];
  return parts.filter((part) => part !== '').join(', ');
}
