import FoundationEssentials
import HTTPTransport
import Logging
import OpenSSLCrypto
import Providers
import Store
import SyncProtocol
import UntrustedInput
import Vault

/// Handles Apple's notices about people: if a person withdraws consent or deletes their account at Apple, their user is
/// removed as if they had requested it.
///
/// Apple's signature authenticates the notice. The transaction that performs the removal records the notice's
/// identifier, so a repeated notice has no effect, even for a person who has since signed up again.
struct AppleNotificationsEndpoint: Endpoint {
    /// The maximum body size in bytes; notices have about one thousand.
    static let maximumBytes = 65_536

    func respond(
        to request: AppleNotificationsRequest, from caller: Anyone, in context: RequestContext
    ) throws -> EndpointReply {
        guard let account = context.services.storage.account(.appleSignIn) as? AppleAccount else {
            throw Refusal(.endpointUnknown)
        }
        let body = try readBody(of: context)
        guard let envelope = try? UntrustedJSON.decode(Envelope.self, from: body) else {
            throw Refusal(.parameterOutOfRange, "the body must be a JSON object with the string payload")
        }
        let notice = try account.notice(in: envelope.payload, through: context.accountClient)
        switch notice.event {
        case .other(let type):
            context.logger.info("Apple notice has no effect", metadata: .keyed([.reason: "\(type)"]))
        case .leaves(let providerUserID):
            if notice.isStale {
                context.logger.warning("Apple notice ignored: too old")
            } else {
                try remove(providerUserID, notice, context)
            }
        }
        return .json(EmptyResponse())
    }

    private func remove(_ providerUserID: String, _ notice: AppleNotice, _ context: RequestContext) throws {
        let identifierHash = IncrementalDigest.digest(of: Array(notice.identifier.utf8), .sha256)
        do {
            let removed = try context.store.transaction { session -> UserID? in
                // Removal locks the groups and must come first. If the notice turns out to be known, everything is
                // rolled back.
                let user = try session.user(.appleSignIn, providerUserID, device: nil)?.user
                let isRemoved = try user.map { try session.removeUser($0.userID, at: context.now) } ?? false
                guard try session.noteAppleNotice(identifierHash, at: context.now) else { throw NoticeKnown() }
                return isRemoved ? user?.userID : nil
            }
            if let removed {
                context.logger.notice("User removed after an Apple notice", metadata: .keyed([.userID: "\(removed)"]))
            }
        } catch is NoticeKnown {
            context.logger.info("Apple notice ignored: already handled")
        }
    }

    /// The whole body. Even a body that is too long is read to the end, so that the reply arrives.
    private func readBody(of context: RequestContext) throws -> [UInt8] {
        var body: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while true {
            let count = try context.body.read(into: &buffer)
            guard count > 0 else { return body }
            body += buffer.prefix(count)
            guard body.count <= Self.maximumBytes else {
                throw Refusal.bodyTooLarge(maximumBytes: Int64(Self.maximumBytes))
            }
        }
    }

    private struct Envelope: Decodable {
        let payload: String
    }
}

extension AppleNotificationsRequest: ServedRequest {
    typealias Handler = AppleNotificationsEndpoint
}

/// Rolls back a transaction that would have repeated an earlier one.
private struct NoticeKnown: Error {}
