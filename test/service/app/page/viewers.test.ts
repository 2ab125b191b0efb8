import { expect, it } from 'vitest';
import { createViewers } from '../../../../src/service/app/page/viewers.ts';

it('changes before a call of next() are reported by it once', async () => {
  const viewers = createViewers();
  const viewer = viewers.join();
  viewers.notify();
  viewers.notify();
  expect(await viewer.next()).toBe('changed');
  const next = viewer.next();
  viewers.notify();
  expect(await next).toBe('changed');
});

it('a change is reported to each viewer', async () => {
  const viewers = createViewers();
  const both = [viewers.join(), viewers.join()].map((viewer) => viewer.next());
  viewers.notify();
  expect(await Promise.all(both)).toEqual(['changed', 'changed']);
});

it('a viewer that leaves is not counted, and its wait ends', async () => {
  const viewers = createViewers();
  const viewer = viewers.join();
  expect(viewers.count()).toBe(1);
  const next = viewer.next();
  viewer.leave();
  expect(viewers.count()).toBe(0);
  expect(await next).toBe('left');
  expect(await viewer.next()).toBe('left');
});

it('the end of the service ends the wait of every viewer, also of one that joins later', async () => {
  const viewers = createViewers();
  const viewer = viewers.join();
  viewers.notify();
  viewers.close();
  expect(await viewer.next()).toBe('service-ends');
  expect(await viewers.join().next()).toBe('service-ends');
});
