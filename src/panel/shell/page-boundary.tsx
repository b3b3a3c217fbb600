/** Shows an error instead of a blank page when a page fails to load or render. */
import { Component, type ReactNode } from 'react';
import { Unreachable } from '../api/problem.js';
import { Failure } from '../words/failure.js';

interface PageBoundaryProps {
  /** Current path. A change of it resets the error. */
  readonly at: string;
  readonly children: ReactNode;
}

interface Thrown {
  readonly error: unknown;
}

interface PageBoundaryState {
  readonly at: string;
  readonly thrown: Thrown | null;
}

/** PageBoundary catches errors of a page and keeps the shell around it. */
export class PageBoundary extends Component<PageBoundaryProps, PageBoundaryState> {
  override readonly state: PageBoundaryState = { at: this.props.at, thrown: null };

  static getDerivedStateFromError(error: unknown): Partial<PageBoundaryState> {
    return { thrown: { error } };
  }

  static getDerivedStateFromProps({ at }: PageBoundaryProps, state: PageBoundaryState): PageBoundaryState | null {
    return at === state.at ? null : { at, thrown: null };
  }

  override render(): ReactNode {
    const { thrown } = this.state;
    return thrown === null ? this.props.children : <Failure error={thrown.error} again={() => void this.again()} />;
  }

  /**
   * Reloads the whole page: after an update, files of the previous version are gone. Keeps the page while the server
   * is unreachable, because the browser would show its own error page.
   */
  private async again(): Promise<void> {
    try {
      await fetch('/', { method: 'HEAD', cache: 'no-store' });
      location.reload();
    } catch (error) {
      this.setState({ thrown: { error: new Unreachable('No response came', { cause: error }) } });
    }
  }
}
