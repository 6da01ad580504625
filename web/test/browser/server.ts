// dyno serve, started and stopped by a script.

import { spawn, type ChildProcess } from "node:child_process";
import { after } from "node:test";

export class Server {
  private process: ChildProcess | undefined;
  /** Its address, without a path. */
  address = "";

  constructor(
    private readonly program: string,
    private readonly archive: string,
  ) {
    after(() => this.stop());
  }

  /** Starts it: on any port at first, later on the same. */
  async start(): Promise<void> {
    const listen = this.address === "" ? "127.0.0.1:0" : new URL(this.address).host;
    const started = spawn(this.program, ["serve", "--archive", this.archive, "--listen", listen], { stdio: ["ignore", "pipe", "pipe"] });
    this.process = started;
    this.address = await new Promise((resolve, reject) => {
      let said = "";
      const hear = (words: Buffer) => {
        said += words.toString();
        const address = /http:\/\/127\.0\.0\.1:\d+/.exec(said)?.[0];
        if (address !== undefined) resolve(address);
      };
      started.stdout.on("data", hear);
      started.stderr.on("data", hear);
      started.on("exit", (code) => reject(new Error(`dyno serve ended with ${code}: ${said}`)));
    });
  }

  /** Ends it, and waits for its end. */
  async stop(): Promise<void> {
    const running = this.process;
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return;
    const ended = new Promise((resolve) => running.once("exit", resolve));
    running.kill("SIGTERM");
    await ended;
  }
}
