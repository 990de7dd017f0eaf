import Expat
import HTTPTransport
import HTTPTypes

/// Reads the members of our folder from a reply of any length, a few at a time (RFC 4918, section 9.1).
struct WebDAVListing {
    fileprivate static let longestReplyBytes = 1 << 30
    let client: WebDAVClient

    /// - Parameter page: receives the files, some at a time.
    func run(_ page: ([StoredObject]) -> Void) throws(CloudStorageError) {
        let request = client.request(
            .metadata, .propfind, client.address.url(client.folder) + (client.folder.isEmpty ? "" : "/"),
            headers: [.depth: "1", .contentType: "application/xml"], body: WebDAVResource.propfind())
        var provider = client.provider(accepting: [404])
        var attempt = 0
        while true {
            let failure: (Duration?, CloudStorageError)
            switch try once(request, &provider, page) {
            case nil: return
            case .some(let reason): failure = reason
            }
            attempt += 1
            try provider.wait(
                before: attempt, retryAfter: failure.0, by: client.access.deadline, orThrow: failure.1)
        }
    }

    /// One request, with a renewed token if necessary.
    /// - Returns: the reason to retry, if nothing was handed over yet; `nil` at the end of the list.
    private func once(
        _ request: OutgoingRequest, _ provider: inout ProviderClient, _ page: ([StoredObject]) -> Void
    ) throws(CloudStorageError) -> (Duration?, CloudStorageError)? {
        while true {
            var head: ReplyHead?
            var reading = Reading(client: client)
            do {
                _ = try client.access.transport.stream(
                    try provider.authorized(request), by: client.access.deadline,
                    head: { reply in
                        head = reply
                        return reply.status == 207
                    }, body: { bytes in reading.take(bytes, page) })
            } catch let error as CloudStorageError {
                throw error
            } catch let error as TransportError {
                if let failure = reading.failure { throw failure }
                if case .refused(let reason) = error { throw CloudStorageError(ofRefusal: reason, request) }
                if case .withheld(let reason) = error { throw .withheld(reason) }
                guard head == nil else { throw .unavailable(detail: "connection lost") }
                return (nil, error == .timedOut ? .timedOut : .unavailable(detail: "connection lost"))
            } catch {
                throw .unavailable(detail: "\(error)")
            }
            guard let head else { return (nil, .unavailable(detail: "no reply")) }
            switch try provider.settle(Reply(head: head, body: []), by: client.access.deadline) {
            case .answer where head.status == 207:
                try reading.finish()
                return nil
            case .answer where head.status == 404: return nil
            case .answer: throw .unavailable(detail: "status \(head.status) instead of 207")
            case .tokenRejected, .tokenDoubted, .authorizationCorrected: continue
            case .tryAgain(let retryAfter, let detail): return (retryAfter, .unavailable(detail: detail))
            case .throttled(let retryAfter, _): return (retryAfter, .rateLimited(retryAfter: retryAfter))
            case .failure(let error): throw error
            }
        }
    }

    /// The part of a reply that has arrived.
    private struct Reading: ~Copyable {
        private let client: WebDAVClient
        private var reader: XMLReader?
        private(set) var failure: CloudStorageError?

        init(client: WebDAVClient) { self.client = client }

        /// `false` ends the transfer.
        mutating func take(_ bytes: Span<UInt8>, _ page: ([StoredObject]) -> Void) -> Bool {
            do {
                if reader == nil { reader = try XMLReader(limits: XMLLimits(bytes: WebDAVListing.longestReplyBytes)) }
                let client = client
                let found = try reader?.read(bytes).compactMap(WebDAVResource.init).compactMap { client.member($0) }
                if let found, !found.isEmpty { page(found) }
                return true
            } catch {
                failure = .unavailable(detail: "unreadable list from the WebDAV server: \(error)")
                return false
            }
        }

        mutating func finish() throws(CloudStorageError) {
            do { _ = try reader?.finish() } catch { throw .unavailable(detail: "incomplete list: \(error)") }
        }
    }
}

extension WebDAVClient {
    /// A file directly in our folder; `nil` for anything else.
    fileprivate func member(_ resource: WebDAVResource) -> StoredObject? {
        guard !resource.isCollection, let names = address.names(ofReference: resource.reference),
            names.count == folder.count + 1, let name = names.last
        else { return nil }
        return try? stored(resource, named: name)
    }
}
