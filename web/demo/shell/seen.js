// Whether an element is near what is seen of the page: what is not need not be drawn until then.
const acts = new WeakMap(); // by element, what is called with true or false
let observer = null;

const observe = (element) => {
  observer ??= new IntersectionObserver(
    (entries) => {
      for (const { target, isIntersecting } of entries) acts.get(target)?.(isIntersecting);
    },
    { rootMargin: '50%', scrollMargin: '50%' },
  );
  observer.observe(element);
};

/**
 * Draws an element when it is asked to, or if it is far from what is seen as soon as it comes near. The drawing is thought
 * near until the browser has said otherwise.
 * @param {Element} element @param {() => void} draw
 * @returns {{ draw: () => void, isDue: () => boolean, end: () => void }}
 */
export function whenSeen(element, draw) {
  let near = true;
  let due = false;
  acts.set(element, (isNear) => {
    near = isNear;
    if (near && due) draw();
    if (near) due = false;
  });
  observe(element);
  return {
    draw() {
      if (near) draw();
      else due = true;
    },
    isDue: () => due,
    end() {
      acts.delete(element);
      observer.unobserve(element);
    },
  };
}
