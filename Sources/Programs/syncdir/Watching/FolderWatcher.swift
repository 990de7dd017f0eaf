import SyncDirectory

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif
#if os(Linux)
    import Dispatch

    /// Tells when something in a directory changes: inotify(7).
    ///
    /// What it misses, such as what happens in a new folder before that is watched, is found by looking now and then.
    final class FolderWatcher: Sendable {
        private let descriptor: Int32
        private nonisolated(unsafe) let source: any DispatchSourceRead

        /// - Parameter body: called after changes, from any thread.
        init?(_ body: @escaping @Sendable () -> Void) {
            let descriptor = inotify_init1(Int32(IN_NONBLOCK) | Int32(IN_CLOEXEC))
            guard descriptor >= 0 else { return nil }
            self.descriptor = descriptor
            unsafe source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: .global())
            unsafe source.setEventHandler {
                var buffer = [UInt8](repeating: 0, count: 65_536)
                while unsafe read(descriptor, &buffer, buffer.count) > 0 {}
                body()
            }
            unsafe source.setCancelHandler { close(descriptor) }
            unsafe source.resume()
        }

        deinit { unsafe source.cancel() }

        /// Watches these folders too; a folder that is watched already costs nothing but the call.
        func watch(_ folders: [String]) {
            let mask = UInt32(
                IN_CREATE | IN_DELETE | IN_CLOSE_WRITE | IN_MODIFY | IN_MOVED_FROM | IN_MOVED_TO | IN_ONLYDIR
                    | Int32(bitPattern: UInt32(IN_DONT_FOLLOW)))
            for folder in folders { _ = unsafe inotify_add_watch(descriptor, folder, mask) }
        }
    }
#else
    /// Where the system does not tell of changes, the directory is looked at often.
    final class FolderWatcher: Sendable {
        init?(_ body: @escaping @Sendable () -> Void) { return nil }
        func watch(_ folders: [String]) {}
    }
#endif
