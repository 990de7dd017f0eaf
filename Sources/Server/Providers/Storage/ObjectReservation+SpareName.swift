import OpenSSLCrypto

extension ObjectReservation {
    /// `name` with a random part before its extension.
    static func spareName(for name: String) throws(CloudStorageError) -> String {
        let random: String
        do { random = try RandomBytes.generate(count: 4).hexLowercase } catch { throw .localFailure(error) }
        return Self.name(name, marked: random)
    }

    /// `name` with `mark` before its extension.
    static func name(_ name: String, marked mark: String) -> String {
        let dot = name.lastIndex(of: ".") ?? name.endIndex
        return name[..<dot] + "~" + mark + name[dot...]
    }
}
