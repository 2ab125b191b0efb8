/** Archives that are made while they are sent: neither the whole of one nor the time for it is taken at once. */
import { setImmediate as turn } from 'node:timers/promises';
import { Zip, ZipDeflate } from 'fflate';

/** A file of an archive: its name and its content. */
export type ZipMember = readonly [name: string, content: Uint8Array];

/** A zip archive of the members in their order; each is asked for when those before it have been sent. */
export function zipStream(members: Iterable<ZipMember>): ReadableStream<Uint8Array<ArrayBuffer>> {
  const rest = members[Symbol.iterator]();
  const made: Uint8Array[] = [];
  const failure: { error: Error | null } = { error: null };
  const zip = new Zip((error, chunk) => {
    failure.error ??= error;
    if (chunk !== undefined) made.push(chunk);
  });
  return new ReadableStream({
    async pull(controller) {
      // Others have their turn between two files.
      await turn();
      const next = rest.next();
      if (next.done === true) zip.end();
      else {
        const [name, content] = next.value;
        const file = new ZipDeflate(name, { level: 6 });
        zip.add(file);
        file.push(content, true);
      }
      if (failure.error !== null) throw failure.error;
      controller.enqueue(Buffer.concat(made.splice(0)));
      if (next.done === true) controller.close();
    },
    cancel() {
      rest.return?.();
      zip.terminate();
    },
  });
}
