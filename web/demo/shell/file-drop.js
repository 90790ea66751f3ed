// A file may be dropped anywhere on the page.
import { useEffect, useState } from 'preact/hooks';
import { openFile } from '../session.js';
import { openExport } from './export-menu.jsx';

// A saved page says so at its beginning.
const isSavedPage = async (file) => /^\s*\{\s*"format":\s*"block-lab"/.test(await file.slice(0, 100).text());

async function receive(file) {
  if (/\.json$/i.test(file.name) && (await isSavedPage(file))) await openExport(file);
  else openFile(file);
}

/** @returns {boolean} whether a file is being held over the page */
export function useFileDrop() {
  const [over, setOver] = useState(false);
  useEffect(() => {
    let depth = 0;
    const isFile = (event) => event.dataTransfer?.types.includes('Files');
    const listeners = {
      dragenter: (event) => isFile(event) && ++depth && setOver(true),
      dragleave: (event) => isFile(event) && --depth <= 0 && setOver(false),
      dragover: (event) => isFile(event) && event.preventDefault(),
      drop: (event) => {
        if (!isFile(event)) return;
        event.preventDefault();
        depth = 0;
        setOver(false);
        const [first] = event.dataTransfer.files;
        if (first) receive(first);
      },
    };
    for (const [name, listener] of Object.entries(listeners)) addEventListener(name, listener);
    return () => {
      for (const [name, listener] of Object.entries(listeners)) removeEventListener(name, listener);
    };
  }, []);
  return over;
}
