// Serves the page offline. The build puts in its version, a hash of all files, and their list.
//
// The files of a version are fetched together or not at all, and a page is opened from the newest version that is
// complete. Scripts have their hash in the name, so what an open page loads later is of its own version; for that the
// version before is kept too. Nothing is looked for in the network but what belongs to no version.
const VERSION = '{version}';
const FILES = '{files}';
const NAME = `block-lab ${self.registration.scope} `; // others may be served from the same host
const cacheName = `${NAME}${VERSION}`;

self.addEventListener('install', (event) => {
  self.skipWaiting();
  event.waitUntil(fetchAll());
});

async function fetchAll() {
  const cache = await caches.open(cacheName);
  // A name with a hash never changes its content; of all others the server's present version is taken.
  const requests = FILES.map(
    (file) => new Request(file, { cache: file.startsWith('assets/') ? 'default' : 'no-cache' }),
  );
  try {
    await cache.addAll(requests);
  } catch (error) {
    await caches.delete(cacheName);
    throw error;
  }
}

self.addEventListener('activate', (event) => {
  event.waitUntil(Promise.all([self.clients.claim(), dropOld()]));
});

async function dropOld() {
  const names = (await caches.keys()).filter((name) => name.startsWith(NAME) && name !== cacheName);
  await Promise.all(names.slice(0, -1).map((name) => caches.delete(name))); // in the order of their making
}

self.addEventListener('fetch', (event) => {
  const { request } = event;
  if (request.method === 'GET' && request.url.startsWith(self.registration.scope)) event.respondWith(answer(request));
});

async function answer(request) {
  const options = { ignoreSearch: true };
  const own = await caches.open(cacheName);
  const path = new URL(request.url).pathname.slice(new URL(self.registration.scope).pathname.length);
  const page = request.mode === 'navigate' && /^(index\.html)?$/.test(path); // others lie below it, as the API reference
  const found = await own.match(page ? './' : request, options);
  return found ?? (await caches.match(request, options)) ?? fetch(request);
}
