import type { FaultRule } from './schema.ts';

/**
 * Which rule hits a request: of the rules that hit the first, and those below it do not see the
 * request. Counts, so it is called once for each request. `path`: without its query; `isSocket`:
 * the upgrade to a web socket.
 */
export type FaultRules = (request: {
  method: string;
  path: string;
  isSocket: boolean;
}) => FaultRule | null;

export function createFaultRules(
  rules: readonly FaultRule[],
  log: (line: string) => void,
): FaultRules {
  const all = rules.map((rule) => ({ rule, pattern: patternOf(rule.path), seen: 0, hits: 0 }));
  return ({ method, path, isSocket }) => {
    const matching = all.filter(
      ({ rule: { methods, cut }, pattern }) =>
        (methods.length === 0 || methods.includes(method)) &&
        (cut !== 'after-frames' || isSocket) &&
        pattern.test(path),
    );
    for (const each of matching) {
      const { rule } = each;
      each.seen += 1;
      const since = each.seen - rule.after;
      if (since < 1 || since % rule.every !== 0 || each.hits >= (rule.times ?? Infinity)) continue;
      each.hits += 1;
      log(`fault: ${method} ${path} matched ${rule.name}: ${effectOf(rule)}`);
      return rule;
    }
    return null;
  };
}

/** A `**` at the end matches the folder before it as well. */
function patternOf(path: string): RegExp {
  const source = path
    .replace(/[.+?^${}()|[\]\\]/g, '\\$&')
    .replace(/\/\*\*$/, '(?:/.{0,})?')
    .replaceAll('**', '.{0,}')
    .replaceAll('*', '[^/]{0,}');
  return new RegExp(`^${source}$`, 's');
}

function effectOf(rule: FaultRule): string {
  const frames = rule.cut === 'after-frames' ? ` (${rule.frames})` : '';
  const parts = [
    rule.latencyMs > 0 && `${rule.latencyMs} ms late`,
    rule.status && `status ${rule.status}`,
    rule.body !== undefined && 'another body',
    Object.keys(rule.headers ?? {}).length > 0 && 'other headers',
    rule.contentType && rule.body === undefined && 'another content type',
    rule.cut && `cut ${rule.cut.replace('-', ' ')}${frames}`,
    !rule.delivered && 'not delivered',
  ];
  return parts.filter(Boolean).join(', ');
}
