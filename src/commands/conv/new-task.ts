/** The task of `conv new --suggested-task owner/name#12`, which is looked up among those that the server suggests. */
import { taskId, taskKey, type SuggestedTask } from '../../domain/git-provider.ts';
import { allPages } from '../../domain/pages.ts';
import { AppError } from '../../errors.ts';
import type { Server } from '../../servers/server.ts';
import type { TaskName } from './new-files.ts';

const MOST_CANDIDATES = 5;

/** Throws `not-found` when the server does not suggest it, `usage` when several tasks have the name. */
export async function findTask(server: Server, wanted: SuggestedTask | TaskName): Promise<SuggestedTask> {
  if ('task_type' in wanted) return wanted;
  const all: SuggestedTask[] = [];
  for await (const task of allPages(taskKey, (page) => server.git.tasks(page))) all.push(task);
  const ofProvider = all.filter(
    ({ git_provider }) => wanted.git_provider === null || git_provider === wanted.git_provider,
  );
  const ofRepository = ofProvider.filter(({ repo }) => repo.toLowerCase() === wanted.repo.toLowerCase());
  const [found, ...more] = ofRepository.filter(({ issue_number }) => issue_number === wanted.issue_number);
  if (found === undefined) throw notSuggested(wanted, ofRepository.length > 0 ? ofRepository : ofProvider);
  if (more.length > 0) throw severalTasks(wanted, [found, ...more]);
  return found;
}

function notSuggested(wanted: TaskName, others: readonly SuggestedTask[]): AppError {
  const candidates = others.slice(0, MOST_CANDIDATES).map(taskId);
  const suggested = candidates.length === 0 ? 'it suggests none' : `it suggests ${candidates.join(', ')}`;
  return new AppError('not-found', `the server does not suggest the task ${taskId(wanted)}; nothing was started`, {
    hint: `${suggested}; list all with acs repo tasks, or give the task as a file`,
    data: { candidates },
  });
}

function severalTasks(wanted: TaskName, tasks: readonly SuggestedTask[]): AppError {
  const providers = [...new Set(tasks.map(({ git_provider }) => git_provider))];
  const words = tasks.map(({ git_provider, task_type, title }) => `${git_provider} ${task_type} "${title}"`);
  return new AppError('usage', `several suggested tasks are ${taskId(wanted)}: ${words.join(', ')}`, {
    hint:
      providers.length === tasks.length
        ? `choose one with --git-provider ${providers.join(' or ')}`
        : 'give the task as a file',
    data: { candidates: tasks.map((task) => ({ ...task })) },
  });
}
