/**
 * Answers questions in groups: of one key one group at a time, with all questions since the group
 * before it started. No answer is older than its question.
 * @param answer answers a group; its rejection is that of each question in it
 */
export function inGroups<Item, Answer>(
  answer: (key: string, items: readonly Item[]) => Promise<Answer>,
): (key: string, item: Item) => Promise<Answer> {
  const queues = new Map<string, Queue<Item, Answer>>();
  const begin = (key: string, queue: Queue<Item, Answer>): Promise<Answer> => {
    const { waiting } = queue;
    queue.waiting = [];
    queue.next = null;
    const group = answer(key, waiting);
    const over = (): void => {
      if (queue.next === null) queues.delete(key);
    };
    queue.last = group.then(over, over);
    return group;
  };
  return (key, item) => {
    const queue = queues.get(key) ?? { waiting: [], last: Promise.resolve(), next: null };
    queues.set(key, queue);
    queue.waiting.push(item);
    queue.next ??= queue.last.then(() => begin(key, queue));
    return queue.next;
  };
}

interface Queue<Item, Answer> {
  waiting: Item[];
  /** Settles when the group under way is over. */
  last: Promise<void>;
  /** The answer of the next group, while something waits for it. */
  next: Promise<Answer> | null;
}
