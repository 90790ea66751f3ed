// Keeps what a panel throws while it is drawn to that panel: without this, one fault leaves the whole page broken.
import { Component } from 'preact';
import { text } from '../session.js';

export class Boundary extends Component {
  static getDerivedStateFromError(error) {
    return { error };
  }

  componentDidCatch(error) {
    console.error(error);
  }

  render({ children }, { error }) {
    const t = text.value.run;
    if (!error) return children;
    return (
      <div class="card error-card" role="alert">
        <p>
          {t.failed} <code>{error.name}</code> {error.message}
        </p>
        <button type="button" class="button" onClick={() => this.setState({ error: null })}>
          {t.again}
        </button>
      </div>
    );
  }
}
