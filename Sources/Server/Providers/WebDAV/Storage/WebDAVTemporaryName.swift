/// The temporary name of an incomplete upload: the reservation's spare name and a suffix, so that the remains of an
/// interrupted upload can be found and deleted with the record of the reservation.
struct WebDAVTemporaryName {
    /// Nextcloud and ownCloud reject `.part`, which they use themselves, and Nextcloud also rejects `.filepart`
    /// (`FilenameValidator`).
    private static let suffix = ".uploading"
    let name: String
    /// The beginning of the names that a server may give to further copies: everything before the extension.
    var stem: Substring {
        let whole = name.dropLast(Self.suffix.count)
        return whole[..<(whole.lastIndex(of: ".") ?? whole.endIndex)]
    }

    /// - Parameter hash: the hash of the contents, in hexadecimal digits. Without a spare name, it produces the same
    ///   name for each attempt to upload the same contents, so that a successful attempt moves away what earlier ones
    ///   left behind.
    init(of reservation: ObjectReservation, hash: String) {
        if let upload = Self(ofSpareName: reservation.spareName ?? reservation.name) {
            self = upload
        } else {
            name = ObjectReservation.name(reservation.name, marked: String(hash.prefix(8))) + Self.suffix
        }
    }

    /// - Returns: `nil` for a name without the form of ``ObjectReservation/spareName(for:)``.
    init?(ofSpareName name: String) {
        let stem = name[..<(name.lastIndex(of: ".") ?? name.endIndex)]
        guard let tilde = stem.lastIndex(of: "~") else { return nil }
        let random = stem[stem.index(after: tilde)...]
        guard random.utf8.count == 8, random.allSatisfy({ $0.isHexDigit && !$0.isUppercase }) else { return nil }
        self.name = name + Self.suffix
    }
}
