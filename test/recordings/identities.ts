/**
 * Which of our ids stands for which recorded one. An id is learned where it first appears: at the
 * same place of the recorded answer and of ours. From then on it is replaced in every request.
 */
import { isCut, isObject, type Json } from './exchanges.ts';

const ID =
  /^(?:[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?=.*\d)(?=.*[A-Z])[0-9A-Za-z]{18,24}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z?)$/;
const IN_TEXT =
  /[0-9a-f]{32}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9A-Za-z]{18,24}|\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+/g;
export class Identities {
  readonly #ours = new Map<string, string>();
  /** By path and recorded page id: the same number is another page of another list. */
  readonly #pages = new Map<string, string>();
  readonly #texts: [string, string][] = [];

  /** Maps a name of the recordings to the name here. */
  set(recorded: string, ours: string): void {
    this.#ours.set(recorded, ours);
  }

  /** Maps a part of texts, such as an address, to its value here. */
  setText(recorded: string, ours: string): void {
    this.#texts.push([recorded, ours]);
  }

  /** Learns which ids of two answers correspond. */
  learn(recorded: Json, ours: Json | undefined): void {
    if (typeof recorded === 'string' && typeof ours === 'string') {
      if (ID.test(recorded)) this.#add(recorded, ours);
    } else if (Array.isArray(recorded) && Array.isArray(ours)) {
      recorded.forEach((item, index) => {
        if (!isCut(item)) this.learn(item, ours[index]);
      });
    } else if (isObject(recorded) && isObject(ours)) {
      if (recorded['kind'] !== ours['kind']) return;
      for (const [name, member] of Object.entries(recorded)) this.learn(member, ours[name]);
    }
  }

  /** Learns the page that follows a list. */
  learnPage(path: string, recorded: Json, ours: Json | undefined): void {
    const [page, own] = [recorded, ours ?? null].map((each) =>
      isObject(each) ? each['next_page_id'] : null,
    );
    if (typeof page === 'string' && typeof own === 'string')
      this.#pages.set(`${path} ${page}`, own);
  }

  translatePage(path: string, page: Json): Json {
    return this.#pages.get(`${path} ${String(page)}`) ?? this.translate(page);
  }

  /** A recorded value with our ids. */
  translate(value: Json): Json {
    if (typeof value === 'string') return this.translateText(value);
    if (Array.isArray(value)) return value.map((item) => this.translate(item));
    if (!isObject(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([key, member]) => [key, this.translate(member)]),
    );
  }

  translateText(text: string): string {
    const whole = this.#ours.get(text);
    if (whole !== undefined) return whole;
    const placed = this.#texts.reduce(
      (all, [recorded, ours]) => all.replaceAll(recorded, ours),
      text,
    );
    return placed.replace(IN_TEXT, (found) => this.#ours.get(found) ?? found);
  }

  /** Both spellings of an id that has two. */
  #add(recorded: string, ours: string): void {
    if (this.#ours.has(recorded)) return;
    this.#ours.set(recorded, ours);
    const [plain, plainOurs] = [recorded.replaceAll('-', ''), ours.replaceAll('-', '')];
    if (!/^[0-9a-f]{32}$/.test(plain) || !/^[0-9a-f]{32}$/.test(plainOurs)) return;
    for (const write of [(id: string) => id, dashed]) {
      if (!this.#ours.has(write(plain))) this.#ours.set(write(plain), write(plainOurs));
    }
  }
}

function dashed(id: string): string {
  return id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5');
}
