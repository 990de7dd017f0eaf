import Synchronization

extension SyncServer {
    /// Waits until the app has been told all that it is to be told so far. For tests.
    package func told() async {
        let lane = driver.state.withLock { $0.lane }
        await lane?.value
    }
}
