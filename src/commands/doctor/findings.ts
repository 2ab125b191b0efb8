export interface Result {
  /** Stable: scripts select by it. */
  id: string;
  status: 'pass' | 'warn' | 'fail' | 'skip';
  text: string;
  hint: string | null;
  data: Record<string, unknown> | null;
}

export interface Finding extends Omit<Result, 'id'> {
  /** Why the checks that need this one cannot run; an error that is thrown blocks them, too. */
  blocks?: string;
}

export function pass(text: string, data: Finding['data'] = null): Finding {
  return { status: 'pass', text, hint: null, data };
}

export function skip(text: string, data: Finding['data'] = null): Finding {
  return { status: 'skip', text, hint: null, data };
}

export function warn(text: string, hint: string, data: Finding['data'] = null): Finding {
  return { status: 'warn', text, hint, data };
}
