import type { FaultRule } from './schema.ts';

/** Which rule hits a request. Counts, so it is called once for each request. */
export interface FaultRules {
  /** `path`: without its query; `isSocket`: the upgrade to a web socket. */
  next(request: { method: string; path: string; isSocket: boolean }): FaultRule | null;
}

/** The first rule that hits decides, and those below it do not see that request. */
export function createFaultRules(
  rules: readonly FaultRule[],
  log: (line: string) => void,
): FaultRules {
  const all = rules.map((rule) => ({ rule, pattern: patternOf(rule.path), seen: 0, hits: 0 }));
  return {
    next({ method, path, isSocket }) {
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
        if (since < 1 || since % rule.every !== 0 || each.hits >= (rule.times ?? Infinity))
          continue;
        each.hits += 1;
        log(`fault: ${method} ${path} matched ${rule.name}: ${effectOf(rule)}`);
        return rule;
      }
      return null;
    },
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
    rule.status !== null && `status ${rule.status}`,
    rule.body !== null && 'another body',
    Object.keys(rule.headers).length > 0 && 'other headers',
    rule.contentType !== null && rule.body === null && 'another content type',
    rule.cut !== null && `cut ${rule.cut.replace('-', ' ')}${frames}`,
    !rule.delivered && 'not delivered',
  ];
  return parts.filter((part) => part !== false).join(', ');
}
