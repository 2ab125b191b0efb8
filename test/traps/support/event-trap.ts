import { v1Trap, type V1Trap } from './trap.ts';

/** A V1 server with one conversation, whose run has finished. */
export async function eventTrap(): Promise<V1Trap> {
  const trap = await v1Trap();
  trap.addConversation({ execution_status: 'finished' });
  return trap;
}

interface Shown {
  id: string;
  text: string;
  kind: string;
  timestamp: string;
}

/** The events that `conv events --json` printed. */
export const items = (out: string): Shown[] => (JSON.parse(out) as { items: Shown[] }).items;
