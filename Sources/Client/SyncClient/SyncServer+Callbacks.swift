import Synchronization

extension SyncServer {
    /// Waits until every delegate call that is currently due has returned. For tests.
    package func callbacksDelivered() async {
        let lane = driver.state.withLock { $0.lane }
        await lane?.value
    }
}
