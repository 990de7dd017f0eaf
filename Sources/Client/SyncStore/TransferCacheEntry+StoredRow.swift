internal import Foundation
internal import GRDB
internal import SyncEngine
internal import SyncProtocol

extension TransferCacheEntry: StoredRow {
    static var table: String { "transferCache" }
    static var selectSQL: String {
        """
        SELECT id, fileUUID, fileVersion, messageParams, urlBase, urlPath, cachedAt
          FROM transferCache
         WHERE direction = 'down'
           AND state = 'finished'
        """
    }
    static var upsertSQL: String {
        """
        INSERT INTO transferCache (id, direction, fileUUID, fileVersion, requestKey, state, messageParams, urlBase,
                                   urlPath, cachedAt)
        VALUES (?, 'down', ?, ?, ?, 'finished', ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE
           SET messageParams = excluded.messageParams
        """
    }
    static var deleteSQL: String { "DELETE FROM transferCache WHERE id = ?" }

    var values: [(any DatabaseValueConvertible)?] {
        [
            id.rawValue, fileUUID.rawValue, fileVersion.rawValue, "down/\(fileUUID)/\(fileVersion)",
            StoredReply(reply).jsonText, location.base.rawValue, location.path, cachedAt.seconds,
        ]
    }

    init(stored: ColumnReader) throws {
        guard let location = try stored.location() else { throw stored.corrupt("urlPath") }
        self.init(
            id: try stored.id("id"), fileUUID: try stored.required("fileUUID") { FileUUID($0) },
            fileVersion: try stored.requiredVersion("fileVersion"),
            reply: try stored.required("messageParams", StoredReply.init(jsonText:)).reply, location: location,
            cachedAt: try stored.requiredDate("cachedAt"))
    }
}

/// The fields of a reply that are needed when its contents are used, as JSON.
private struct StoredReply: Codable {
    var appMetaDataVersion: AppMetaDataVersion?
    var appMetaData: String?
    var cloudStorageType: CloudStorageType?
    var contentsChanged: Bool

    init(_ reply: TransferCacheEntry.Reply) {
        appMetaDataVersion = reply.appMetaDataVersion
        appMetaData = reply.appMetaData
        cloudStorageType = reply.cloudStorageType
        contentsChanged = reply.contentsChanged
    }

    init?(jsonText: String) {
        guard let value = try? JSONDecoder().decode(Self.self, from: Data(jsonText.utf8)) else { return nil }
        self = value
    }

    var jsonText: String {
        guard let data = try? JSONEncoder().encode(self) else { preconditionFailure("plain values always encode") }
        return String(decoding: data, as: UTF8.self)
    }

    var reply: TransferCacheEntry.Reply {
        var reply = TransferCacheEntry.Reply()
        reply.appMetaDataVersion = appMetaDataVersion
        reply.appMetaData = appMetaData
        reply.cloudStorageType = cloudStorageType
        reply.contentsChanged = contentsChanged
        return reply
    }
}
