/** Interface 7.4, 7.5, 14.2. */
import {
  asList,
  asRecord,
  optionalNumber,
  optionalRecord,
  optionalText,
  optionalTexts,
  requiredText,
} from '../shape.ts';

export type AgentConversationRecord = ReturnType<typeof readAgentConversation>;

export function readAgentConversation(value: unknown, subject = 'conversation') {
  const record = asRecord(value, subject);
  const workspace = optionalRecord(record, 'workspace', subject);
  const agent = optionalRecord(record, 'agent', subject);
  const llm = agent && optionalRecord(agent, 'llm', `${subject}.agent`);
  return {
    id: requiredText(record, 'id', subject),
    ...optionalTexts(record, CONVERSATION_TEXTS, subject),
    working_dir: workspace && optionalText(workspace, 'working_dir', `${subject}.workspace`),
    model: llm && optionalText(llm, 'model', `${subject}.agent.llm`),
    tags: optionalRecord(record, 'tags', subject) ?? {},
    payload: record,
  };
}

const CONVERSATION_TEXTS = ['title', 'execution_status', 'created_at', 'updated_at'] as const;

/** `exit_code` is null until the last piece. */
export interface BashOutput {
  order: number;
  exit_code: number | null;
  stdout: string;
  stderr: string;
}

export function readBashOutput(value: unknown, subject = 'bash output'): BashOutput {
  const record = asRecord(value, subject);
  return {
    order: optionalNumber(record, 'order', subject) ?? 0,
    exit_code: optionalNumber(record, 'exit_code', subject),
    stdout: optionalText(record, 'stdout', subject) ?? '',
    stderr: optionalText(record, 'stderr', subject) ?? '',
  };
}

export interface GitChange {
  path: string;
  /** ADDED, UPDATED, DELETED, MOVED; V0: A, M, D, U. */
  status: string;
}

export function readGitChanges(value: unknown, subject = 'changes'): GitChange[] {
  return asList(value, subject).map((item, index) => {
    const record = asRecord(item, `${subject}[${index}]`);
    return {
      path: requiredText(record, 'path', subject),
      status: requiredText(record, 'status', subject),
    };
  });
}

/** Null where a side does not exist or is not text. */
export function readGitDiff(
  value: unknown,
  subject = 'diff',
): { original: string | null; modified: string | null } {
  const record = asRecord(value, subject);
  return {
    original: optionalText(record, 'original', subject),
    modified: optionalText(record, 'modified', subject),
  };
}
